# SPDX-License-Identifier: BSD-3-Clause
"""Ways in which a C++ program writes memory: each function returns one statement that writes somewhere behind `m`."""

from __future__ import annotations

import random
from collections.abc import Callable

from completeness_c import MEMORY_BYTES

PRELUDE = """
#include <algorithm>
#include <atomic>
#include <bitset>
#include <charconv>
#include <complex>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <valarray>
#include <variant>
#include <vector>
#if __cplusplus >= 202002L
#include <coroutine>
#endif

// Containers take their nodes from the second half of the tracked memory; each program starts anew.
static unsigned char *arena_next;
template <class T> struct Arena {
    using value_type = T;
    Arena() = default;
    template <class U> Arena(const Arena<U> &) {}
    T *allocate(size_t n) {
        size_t bytes = (n * sizeof(T) + 15) / 16 * 16;
        if (arena_next + bytes > memory + BYTES)
            throw std::bad_alloc();
        T *result = reinterpret_cast<T *>(arena_next);
        arena_next += bytes;
        return result;
    }
    void deallocate(T *, size_t) {}
    bool operator==(const Arena &) const { return true; }
    bool operator!=(const Arena &) const { return false; }
};
using Text = std::basic_string<char, std::char_traits<char>, Arena<char>>;
template <class K, class V> using Map = std::map<K, V, std::less<K>, Arena<std::pair<const K, V>>>;
template <class K, class V> using Table =
    std::unordered_map<K, V, std::hash<K>, std::equal_to<K>, Arena<std::pair<const K, V>>>;

struct Base {
    virtual ~Base() { seen++; }
    virtual void change(long by) { value += by; }
    long value = 1, seen = 0;
};
struct Other { virtual void touch() { other++; } int other = 4; };
struct Derived : Base, Other {
    explicit Derived(long v) { value = v; }
    void change(long by) override { value -= by; extra[by % 3] = by; }
    long extra[3] = {1, 2, 3};
};
struct Big { long words[12]; Big operator+(const Big &b) const { Big s = *this; s.words[3] += b.words[5]; return s; } };
static __attribute__((noinline)) Big make_big(long v) { return Big{{v, v + 1, v + 2}}; }
static __attribute__((noinline)) void may_throw(uint64_t r) { if (r & 1) throw std::runtime_error("odd"); }

#if __cplusplus >= 202002L
// A coroutine whose frame lies in the tracked memory.
struct Steps {
    struct promise_type {
        int current = 0;
        void *operator new(size_t n) { return Arena<char>().allocate(n); }
        void operator delete(void *) {}
        Steps get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        std::suspend_always yield_value(int v) { current = v; return {}; }
        void return_void() {}
        void unhandled_exception() {}
    };
    std::coroutine_handle<promise_type> handle;
};
static Steps steps(int from) { for (int i = 0; i < 5; i++) co_yield from + i * i; }
#else
// Before C++20: an object of the same use.
struct Steps {
    struct Handle {
        int *at;
        struct Promise { int current; };
        void resume() { (*at)++; }
        Promise promise() { return {*at}; }
        void destroy() {}
    } handle;
};
static Steps steps(int from) { int *at = Arena<int>().allocate(1); *at = from; return {{at}}; }
#endif
"""


def place(rng: random.Random, size: int, align: int) -> str:
    """In the half where no container takes its nodes."""
    return f"(m + {rng.randrange(0, MEMORY_BYTES // 2 - size) // align * align})"


def scalars(rng: random.Random) -> str:
    at, other = place(rng, 64, 16), place(rng, 64, 16)
    return rng.choice(
        [
            f"{{ auto *a = new ({at}) std::atomic<long>(3); a->fetch_add((long)r); commit_here();"
            " a->store(4); ++*a; }",
            f"{{ struct Pair {{ long a, b; }}; auto *p = new ({at}) std::atomic<Pair>(Pair{{1, 2}}); commit_here();"
            " p->store(Pair{3, (long)r}); Pair e = p->load(); p->compare_exchange_strong(e, Pair{5, 6}); }",
            f"{{ auto &v = *reinterpret_cast<std::complex<double> *>({at});"
            " v = std::complex<double>(1, 2) * (double)r; }",
            f"{{ auto *o = new ({at}) std::optional<long>; *o = (long)r; commit_here(); o->reset(); *o = 5; }}",
            f"{{ auto *v = new ({at}) std::variant<int, double>(1); *v = 2.5; commit_here(); *v = (int)r; }}",
            f"{{ auto *b = new ({at}) std::bitset<300>; b->set(r % 300); b->flip(7); }}",
            f"{{ long &x = *reinterpret_cast<long *>({at}); auto f = [&](long by) {{ x += by; }}; f(3);"
            " commit_here(); f(4); }",
            f"std::swap(*reinterpret_cast<long *>({at}), *reinterpret_cast<long *>({other} + 8));",
            f"{{ auto *l = new ({at}) std::mutex; commit_here(); std::lock_guard<std::mutex> g(*l); commit_here(); }}",
        ]
    )


def objects(rng: random.Random) -> str:
    at = place(rng, 200, 16)
    return rng.choice(
        [
            f"{{ Base *b = new ({at}) Derived((long)r); b->change(5); commit_here(); b->change(7);"
            " dynamic_cast<Other *>(b)->touch(); }",
            f"new ({at}) Big(make_big((long)r)); ",
            f"{{ Big *b = reinterpret_cast<Big *>({at}); *b = make_big(1) + make_big((long)r);"
            " commit_here(); *b = *b + *b; }",
            f"try {{ {at}[3] = 1; may_throw(r); {at}[4] = 2; }} catch (const std::exception &e) {{ {at}[5] += 3; }}",
            f"{{ struct End {{ unsigned char *p; ~End() {{ p[9]++; }} }} end{{{at}}};"
            f" try {{ may_throw(r + 1); }} catch (...) {{ {at}[1] = 7; }} }}",
            f"{{ struct Delta {{ int a : 5, b : 9; bool c : 1; }}; auto *d = new ({at}) Delta{{}};"
            " d->b = (int)(r & 99); d->c = 1; }",
        ]
    )


def algorithms(rng: random.Random) -> str:
    count = rng.randrange(5, 90)
    return f"{{ int *p = reinterpret_cast<int *>({place(rng, 400, 4)}); " + rng.choice(
        [
            f"std::iota(p, p + {count}, (int)r); std::reverse(p, p + {count}); }}",
            f"std::fill_n(p, {count}, (int)r); commit_here(); std::rotate(p, p + 3, p + {count}); }}",
            f"std::sort(p, p + {count}); }}",
            f"std::transform(p, p + {count}, p, [&](int v) {{ return v + (int)r; }}); }}",
            f"for (int i = 0; i < {count}; i++) p[i] = i; std::stable_sort(p, p + {count}, std::greater<int>()); }}",
            f"std::copy(p, p + {count // 2}, p + {count // 2}); std::nth_element(p, p + 3, p + {count}); }}",
        ]
    )


def containers(rng: random.Random) -> str:
    at, count = place(rng, 120, 16), rng.randrange(3, 30)
    body = f"for (unsigned i = 0; i < {count}; i++)"
    half = f"for (unsigned i = 0; i < {count} / 2; i++)"
    return rng.choice(
        [
            f"{{ auto *c = new ({at}) Map<long, long>; {body} (*c)[(long)(r * i % 37)] = i; commit_here();"
            f" {half} c->erase((long)(r * i % 37)); commit_here(); {half} (*c)[i * 5] = 9; c->erase(c->begin()); }}",
            f"{{ auto *c = new ({at}) std::list<int, Arena<int>>; {body} c->push_front((int)(i * r)); commit_here();"
            " c->sort(); commit_here(); c->reverse(); c->pop_back(); std::list<int, Arena<int>> d{1, 2};"
            " c->splice(c->begin(), d); c->swap(d); d.swap(*c); }",
            f"{{ auto *c = new ({at}) std::vector<long, Arena<long>>; {body} c->push_back((long)(r + i));"
            " commit_here();"
            " c->insert(c->begin() + 1, 7); c->erase(c->begin()); c->resize(2); }",
            f"{{ auto *c = new ({at}) Table<int, int>; {body} (*c)[(int)(r % 91 * i)] = 1; commit_here();"
            f" {half} c->erase((int)(r % 91 * i)); commit_here(); {body} (*c)[(int)i] += 2; }}",
            f"{{ auto *c = new ({at}) std::deque<short, Arena<short>>; {body} c->push_front((short)i); commit_here();"
            " c->pop_back(); c->push_back(9); }",
            f"{{ auto *c = new ({at}) std::set<int, std::less<int>, Arena<int>>; {body} c->insert((int)(i * r % 53));"
            " commit_here(); c->erase(c->begin(), std::next(c->begin(), 2)); c->insert(-1); }",
            "{ auto p = std::allocate_shared<Big>(Arena<Big>(), make_big((long)r)); commit_here(); auto q = p;"
            " q->words[2]++; commit_here(); p.reset(); }",
        ]
    )


def texts(rng: random.Random) -> str:
    at, other = place(rng, 120, 16), place(rng, 120, 16)
    word = "".join(rng.choices("abcdefgh", k=rng.choice([3, 9, 15, 16, 40])))
    return rng.choice(
        [
            f'{{ auto *s = new ({at}) Text("{word}"); *s += "{word}"; commit_here(); s->replace(1, 2, "{word}");'
            ' commit_here(); s->insert(0, "xy"); s->erase(2, 3); s->push_back(65); }',
            f'{{ auto *s = new ({at}) std::string("{word}"); commit_here(); s->append("z"); *s = "{word[:5]}";'
            " s->resize(4); commit_here(); s->assign(7, 'q'); s->clear(); }",
            f'{{ auto *s = new ({at}) std::string; std::istringstream i("{word[:9]} more\\nline\\n");'
            " commit_here(); i >> *s;"
            " commit_here(); std::getline(i, *s); std::getline(i, *s, 'n'); }",
            f'{{ std::istringstream i("12 3.5 x true text 77"); i >> *reinterpret_cast<int *>({at})'
            f" >> *reinterpret_cast<double *>({other}) >> *reinterpret_cast<char *>({other} + 9);"
            f" char b[9]; i.read(reinterpret_cast<char *>({at}) + 30, 7); i.get(b[0]); i >> b[1];"
            f" i.getline(reinterpret_cast<char *>({at}) + 50, 9, '7'); }}",
            f"{{ auto *p = reinterpret_cast<char *>({at}); std::to_chars(p, p + 60, 1.5 * (double)r);"
            f' std::from_chars("2.25", "2.25" + 4, *reinterpret_cast<double *>({other})); }}',
            f"{{ auto *p = reinterpret_cast<char *>({at}); std::to_chars(p, p + 60, (long)r, 7); }}",
        ]
    )


def language(rng: random.Random) -> str:
    at = place(rng, 64, 16)
    return rng.choice(
        [
            f"{{ static int calls; thread_local int t; calls++; t += calls; {at}[0] = (unsigned char)(t + calls); }}",
            "{ std::valarray<int> v = std::valarray<int>({1, 2, 3}) * (int)r;"
            f" std::copy(begin(v), end(v), reinterpret_cast<int *>({at})); }}",
            "{ auto s = steps((int)(r % 99)); s.handle.resume(); commit_here(); s.handle.resume(); s.handle.resume();"
            f" {at}[1] = (unsigned char)s.handle.promise().current; s.handle.destroy(); }}",
            "{ long Big::*w = nullptr; (void)w; void (Base::*f)(long) = &Base::change; Derived d(1); (d.*f)(2);"
            f" *reinterpret_cast<long *>({at}) = d.value + (long)r; }}",
        ]
    )


WAYS: list[Callable[[random.Random], str]] = [scalars, objects, algorithms, containers, containers, texts, language]
