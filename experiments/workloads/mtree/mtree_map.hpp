// SPDX-License-Identifier: BSD-3-Clause
//
// A map from byte strings to 8-byte numbers: a trie of B+-trees, each of which orders the keys by eight of their bytes
// (mtree_node.hpp). A key that shares its first eight bytes with no other key keeps the rest beside its value; a second
// such key makes a tree for the bytes that follow.
//
// Any number of threads read, without locks. Writers take turns, because an engine allocates for one thread at a time,
// and because stores and commits take turns. Each change is one transaction that also counts itself.
//
// Differences from the published Masstree: no lock bits, which a crash would leave set; no pointers to parents, because
// the writer keeps its path instead; and a record has the rest of its key, where Masstree has one block for all keys of
// a node. Memory is not returned to the engine: a node or record is kept to be reused as one, so that a late reader
// finds a version that differs from the one it noted.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "mtree_node.hpp"
#include "together.hpp"

namespace workloads {

template <class Engine> class MtreeMap {
  public:
    using Border = mtree::Border;
    using Cursor = mtree::Cursor;
    using Interior = mtree::Interior;
    using Link = mtree::Link;
    using Node = mtree::Node;
    using Permutation = mtree::Permutation;
    using Record = mtree::Record;

    struct Root {
        uint64_t commits, size;
        uint64_t version; // version of `top`
        Link top;         // 0: no key was ever inserted
        Link free_borders, free_interiors;
        Link free_records[std::size(mtree::RecordSizes)]; // the first two are in the same line
        uint64_t records_loaded;
    };

    explicit MtreeMap(Engine &engine) : engine(engine), root(engine.template root<Root>()) {}

    uint64_t commits() const { return mtree::load(root->commits); }
    uint64_t recordsLoaded() const { return root->records_loaded; }
    uint64_t size() const { return mtree::load(root->size); }

    std::optional<uint64_t> find(std::string_view key) const {
        for (Patience patience;; patience.wait()) {
            uint64_t value = 0;
            Answer answer = look(key, value);
            if (answer != Answer::Again)
                return answer == Answer::Yes ? std::optional(value) : std::nullopt;
        }
    }

    // Calls visit(std::string_view key, uint64_t value) for at most `limit` keys in order, beginning with the first
    // that is not below `from`. Returns the number of calls.
    template <class Visit> uint64_t scan(std::string_view from, uint64_t limit, Visit &&visit) const {
        Walk<Visit> walk{visit, limit, std::string(from)};
        for (Patience patience; walk.visited < limit && walkAll(walk) == Answer::Again;)
            patience.wait();
        return walk.visited;
    }
    template <class Visit> void forEach(Visit &&visit) const { scan("", ~uint64_t{0}, visit); }

    // Replaces the value of an existing key.
    void insert(std::string_view key, uint64_t value) {
        check(key);
        change([&] { return put(key, value, true), true; });
    }

    // False if the key does not exist; no commit is counted then.
    bool update(std::string_view key, uint64_t value) {
        return change([&] { return put(key, value, false); });
    }
    bool erase(std::string_view key) {
        return change([&] {
            bool erased = root->top && eraseBelow(topHolder(), Cursor(key));
            mtree::store(root->size, root->size - erased);
            return erased;
        });
    }

    // Several keys in one transaction, which counts no commit: loading is not measured. next(i) returns a pair.
    template <class Next> void load(uint64_t count, Next &&next) {
        std::lock_guard turn(writers);
        engine.transaction([&] {
            writingCounts();
            for (uint64_t i = 0; i < count; i++) {
                auto [key, value] = next(i);
                check(key);
                put(key, value, true);
            }
            engine.writing(&root->records_loaded);
            root->records_loaded += count;
        });
    }

  private:
    template <class> friend class MtreeCheck;

    enum class Answer { Yes, No, Again };

    template <class T> T *at(Link link) const {
        return reinterpret_cast<T *>(reinterpret_cast<char *>(root) + static_cast<int64_t>(link));
    }
    Link linkTo(const void *place) const {
        return static_cast<Link>(static_cast<const char *>(place) - reinterpret_cast<const char *>(root));
    }

    // ---- Readers ----

    // A version that was noted while no change was in progress.
    struct Watch {
        const uint64_t *word;
        uint64_t seen;

        explicit Watch(const uint64_t &word) : word(&word), seen(mtree::load(word)) {
            for (Patience patience; seen & mtree::version::Changing; seen = mtree::load(word))
                patience.wait();
        }
        bool changed() const { return mtree::load(*word) != seen; }
        bool isBorder() const { return seen & mtree::version::Border; }
    };

    static void fetch(const Node *node) {
        for (size_t line = 1; line < sizeof(Border) / 64; line++)
            __builtin_prefetch(reinterpret_cast<const char *>(node) + 64 * line);
    }

    // Descends to the border node for a slice. `watch` watches the place that has the tree's top. Each node's version
    // is noted before the node that led to it is checked again, so no change in between goes unnoticed. nullptr: there
    // was a change.
    const Border *descend(Watch &watch, Link link, uint64_t slice) const {
        for (;;) {
            if (watch.changed())
                return nullptr;
            const Node *node = at<Node>(link);
            fetch(node);
            Watch below(node->version);
            if (watch.changed())
                return nullptr;
            watch = below;
            if (watch.isBorder())
                return static_cast<const Border *>(node);
            auto interior = static_cast<const Interior *>(node);
            link = mtree::load(interior->children[interior->indexOf(slice)]);
        }
    }

    Answer look(std::string_view key, uint64_t &value) const {
        Watch watch(root->version);
        Link link = mtree::load(root->top);
        if (!link)
            return Answer::No;
        for (Cursor cursor(key);; cursor.descend()) {
            uint64_t slice = cursor.slice();
            const Border *border = descend(watch, link, slice);
            if (!border)
                return Answer::Again;
            Permutation order(mtree::load(border->permutation));
            auto [position, found] = border->place(order, slice, cursor.ending());
            uint32_t slot = order.at(std::min(position, Permutation::Slots - 1));
            uint8_t ending = mtree::load(border->endings[slot]);
            link = mtree::load(border->links[slot]);
            if (watch.changed())
                return Answer::Again;
            if (!found)
                return Answer::No;
            if (ending == mtree::Layer)
                continue;
            auto record = at<Record>(link);
            value = mtree::load(record->value);
            bool same = record->has(cursor.rest());
            return watch.changed() ? Answer::Again : same ? Answer::Yes : Answer::No;
        }
    }

    // A walk remembers the last key that it has visited, and continues behind it after a concurrent change.
    template <class Visit> struct Walk {
        Visit &visit;
        uint64_t limit;
        std::string last; // before the first visit: the place to begin
        uint64_t visited = 0;
        std::string key = {}; // key of the place where the walk is
    };
    // The bound of the keys of a tree that must not be visited again.
    struct Bound {
        std::optional<Cursor> from;
        bool is_visited; // `from` itself was visited

        // True if the walk has passed everything that such a slot leads to.
        bool excludes(uint64_t slice, uint8_t rank) const {
            if (!from || slice > from->slice())
                return false;
            return slice < from->slice() || rank < from->ending() ||
                   (rank == from->ending() && rank != Cursor::Behind && is_visited);
        }
        bool excludesRest(uint64_t slice, std::string_view rest) const {
            if (!from || slice != from->slice() || from->ending() != Cursor::Behind)
                return false;
            return rest < from->rest() || (rest == from->rest() && is_visited);
        }
        Bound below(uint64_t slice) const {
            if (!from || slice != from->slice() || from->ending() != Cursor::Behind)
                return {{}, false};
            return {Cursor(from->rest()), is_visited};
        }
    };

    template <class Visit> Answer walkAll(Walk<Visit> &walk) const {
        Watch watch(root->version);
        Link top = mtree::load(root->top);
        if (!top)
            return Answer::Yes;
        walk.key.clear();
        std::string begin = walk.last; // a copy, because the walk changes walk.last
        return walkTree(walk, watch, top, Bound{Cursor(begin), walk.visited > 0});
    }

    template <class Visit> Answer walkTree(Walk<Visit> &walk, Watch watch, Link top, Bound bound) const {
        const Border *border = descend(watch, top, bound.from ? bound.from->slice() : 0);
        while (border) {
            Answer answer = walkBorder(walk, watch, *border, bound);
            if (answer != Answer::Yes)
                return answer;
            Link next = mtree::load(border->next);
            if (watch.changed())
                break;
            if (!next)
                return Answer::Yes;
            border = at<Border>(next);
            Watch beside(border->version);
            if (watch.changed())
                break;
            watch = beside;
            bound = {{}, false};
        }
        return Answer::Again;
    }

    // Returns No if the walk has reached its limit.
    template <class Visit>
    Answer walkBorder(Walk<Visit> &walk, const Watch &watch, const Border &border, const Bound &bound) const {
        Permutation order(mtree::load(border.permutation));
        for (uint32_t position = 0; position < order.count(); position++) {
            uint32_t slot = order.at(position);
            uint64_t slice = mtree::load(border.slices[slot]);
            uint8_t ending = mtree::load(border.endings[slot]);
            Link link = mtree::load(border.links[slot]);
            if (watch.changed())
                return Answer::Again;
            if (bound.excludes(slice, mtree::rankOf(ending)))
                continue;
            size_t prefix_bytes = walk.key.size();
            append(walk.key, slice, std::min<size_t>(ending, sizeof(slice)));
            Answer answer = ending == mtree::Layer ? walkTree(walk, watch, link, bound.below(slice))
                                                   : visitRecord(walk, watch, *at<Record>(link), slice, bound);
            walk.key.resize(prefix_bytes);
            if (answer != Answer::Yes)
                return answer;
        }
        return Answer::Yes;
    }

    template <class Visit>
    Answer visitRecord(Walk<Visit> &walk, const Watch &watch, const Record &record, uint64_t slice,
                       const Bound &bound) const {
        uint64_t value = mtree::load(record.value);
        size_t rest_at = walk.key.size(), rest_bytes = mtree::load(record.rest_bytes);
        for (size_t i = 0; i < Record::wordsOf(rest_bytes); i++) {
            uint64_t word = mtree::load(record.rest[i]);
            walk.key.append(reinterpret_cast<const char *>(&word), std::min(sizeof(word), rest_bytes - 8 * i));
        }
        if (watch.changed())
            return Answer::Again;
        if (bound.excludesRest(slice, std::string_view(walk.key).substr(rest_at)))
            return Answer::Yes;
        walk.last = walk.key;
        walk.visit(std::string_view(walk.key), value);
        return ++walk.visited == walk.limit ? Answer::No : Answer::Yes;
    }

    static void append(std::string &key, uint64_t slice, size_t bytes) {
        uint64_t swapped = __builtin_bswap64(slice);
        key.append(reinterpret_cast<const char *>(&swapped), bytes);
    }

    // ---- Writers: one at a time ----

    // The place that has a tree's top: the root, or a slot of a border node.
    struct Holder {
        uint64_t *version;
        Link *link;
    };
    Holder topHolder() { return {&root->version, &root->top}; }

    struct Path {
        static constexpr uint32_t DepthMax = 24;
        uint32_t depth = 0; // number of interior nodes above the border node
        Interior *nodes[DepthMax];
        uint32_t indexes[DepthMax]; // indexes of the children on the path
        Border *border;
    };

    // The nodes that readers must wait for, until all parts of a change are done.
    class Changing {
      public:
        explicit Changing(Engine &engine) : engine(engine) {}
        ~Changing() {
            while (count > 0) {
                uint64_t &word = *words[--count], done = word & ~mtree::version::Changing;
                mtree::store(
                    word, done + (word & mtree::version::Splitting ? mtree::version::Split : mtree::version::Inserted));
            }
        }
        void add(uint64_t &word, uint64_t what) {
            engine.writing(&word);
            if (!(word & mtree::version::Changing))
                words[count++] = &word;
            mtree::store(word, word | what);
        }

      private:
        Engine &engine;
        uint64_t *words[2 * Path::DepthMax + 4];
        uint32_t count = 0;
    };

    static void check(std::string_view key) {
        if (key.size() > mtree::KeyBytesMax)
            throw std::invalid_argument("a key has more than " + std::to_string(mtree::KeyBytesMax) + " bytes");
    }

    // Announces the counts, and the tree's top, which lies beside them.
    void writingCounts() { engine.writing(&root->commits, 4); }

    // Counts a commit if there was a change.
    template <class Change> bool change(Change &&change) {
        std::lock_guard turn(writers);
        bool changed = false;
        engine.transaction([&] {
            writingCounts();
            changed = change();
            mtree::store(root->commits, root->commits + changed);
        });
        return changed;
    }

    Path pathTo(Link top, uint64_t slice) const {
        Path path;
        Node *node = at<Node>(top);
        while (fetch(node), !(node->version & mtree::version::Border)) {
            if (path.depth == Path::DepthMax)
                throw std::runtime_error("the tree is deeper than a path can be");
            auto interior = static_cast<Interior *>(node);
            uint32_t index = interior->indexOf(slice);
            path.nodes[path.depth] = interior;
            path.indexes[path.depth++] = index;
            node = at<Node>(interior->children[index]);
        }
        path.border = static_cast<Border *>(node);
        return path;
    }

    // Returns whether the key has this value now.
    bool put(std::string_view key, uint64_t value, bool may_insert) {
        if (!root->top) {
            if (!may_insert)
                return false;
            mtree::store(root->top, linkTo(makeBorder())); // no reader relies on having seen an empty tree
        }
        Holder holder = topHolder();
        for (Cursor cursor(key);;) {
            Path path = pathTo(*holder.link, cursor.slice());
            Border *border = path.border;
            Permutation order(border->permutation);
            auto [position, found] = border->place(order, cursor.slice(), cursor.ending());
            if (!found) {
                if (may_insert)
                    insertAt(holder, path, position, cursor, value);
                return may_insert;
            }
            uint32_t slot = order.at(position);
            if (border->endings[slot] != mtree::Layer) {
                auto record = at<Record>(border->links[slot]);
                if (record->has(cursor.rest())) {
                    replace(border, slot, makeRecord(cursor.rest(), value));
                    return true;
                }
                if (!may_insert)
                    return false;
                makeLayer(border, slot, record);
            }
            holder = {&border->version, &border->links[slot]};
            cursor.descend();
        }
    }

    void replace(Border *border, uint32_t slot, Record *record) {
        Link old = border->links[slot];
        engine.writing(&border->version);
        engine.writing(&border->links[slot]);
        mtree::store(border->links[slot], linkTo(record));
        mtree::store(border->version, border->version + mtree::version::Inserted);
        giveBack(at<Record>(old));
    }

    // Moves the slot's only key to a new tree, as the first key there.
    void makeLayer(Border *border, uint32_t slot, Record *record) {
        std::string text(reinterpret_cast<const char *>(record->rest), record->rest_bytes);
        Cursor cursor(text);
        Border *below = makeBorder();
        fill(below, Permutation().free(), cursor, makeRecord(cursor.rest(), record->value));
        below->permutation = Permutation().inserted(0).bits();
        {
            Changing changing(engine);
            changing.add(border->version, mtree::version::Inserting);
            engine.writing(&border->endings[slot]);
            engine.writing(&border->links[slot]);
            mtree::store(border->endings[slot], mtree::Layer);
            mtree::store(border->links[slot], linkTo(below));
        }
        giveBack(record);
    }

    static void fill(Border *border, uint32_t slot, const Cursor &cursor, Link link) {
        mtree::store(border->slices[slot], cursor.slice());
        mtree::store(border->endings[slot], cursor.ending());
        mtree::store(border->links[slot], link);
    }
    void fill(Border *border, uint32_t slot, const Cursor &cursor, const Record *record) {
        fill(border, slot, cursor, linkTo(record));
    }

    // Fills a free slot; then the permutation makes the slot count. No reader has to look again.
    void insertAt(Holder holder, Path &path, uint32_t position, const Cursor &cursor, uint64_t value) {
        mtree::store(root->size, root->size + 1);
        Record *record = makeRecord(cursor.rest(), value);
        Border *border = path.border;
        Permutation order(border->permutation);
        if (order.count() == Permutation::Slots)
            return split(holder, path, cursor, record);
        uint32_t slot = order.free();
        engine.writing(&border->permutation, 3); // the permutation and the endings
        engine.writing(&border->slices[slot]);
        engine.writing(&border->links[slot]);
        fill(border, slot, cursor, record);
        mtree::store(border->permutation, order.inserted(position).bits());
    }

    // ---- Splits ----

    // The position nearest to the middle that keeps keys with the same slice together. There are at most ten such keys.
    static uint32_t middleOf(const Border *border, Permutation order) {
        constexpr uint32_t half = (Permutation::Slots + 1) / 2;
        auto divides = [&](uint32_t position) {
            return border->slices[order.at(position - 1)] != border->slices[order.at(position)];
        };
        for (uint32_t away = 0;; away++) {
            if (divides(half - away))
                return half - away;
            if (divides(std::min(half + away, Permutation::Slots - 1)))
                return std::min(half + away, Permutation::Slots - 1);
        }
    }

    void split(Holder holder, Path &path, const Cursor &cursor, const Record *record) {
        Changing changing(engine);
        Border *left = path.border, *right = makeBorder();
        Permutation order(left->permutation), moved;
        uint32_t kept = middleOf(left, order);
        changing.add(left->version, mtree::version::Splitting);
        engine.writing(left);
        for (uint32_t position = kept; position < order.count(); position++) {
            uint32_t from = order.at(position), to = moved.free();
            mtree::store(right->slices[to], left->slices[from]);
            mtree::store(right->endings[to], left->endings[from]);
            mtree::store(right->links[to], left->links[from]);
            moved = moved.inserted(moved.count());
        }
        mtree::store(right->permutation, moved.bits());
        mtree::store(left->permutation, order.cut(kept).bits());
        linkBehind(left, right);
        uint64_t separator = right->slices[moved.at(0)];
        Border *taker = cursor.slice() < separator ? left : right;
        Permutation taken(taker->permutation);
        uint32_t position = taker->place(taken, cursor.slice(), cursor.ending()).position;
        fill(taker, taken.free(), cursor, record);
        mtree::store(taker->permutation, taken.inserted(position).bits());
        growUp(changing, holder, path, separator, linkTo(right));
    }

    void linkBehind(Border *left, Border *right) {
        mtree::store(right->previous, linkTo(left));
        mtree::store(right->next, left->next);
        if (left->next) {
            Link &back = at<Border>(left->next)->previous;
            engine.writing(&back);
            mtree::store(back, linkTo(right));
        }
        mtree::store(left->next, linkTo(right));
    }

    // Inserts `added` and the slice that it begins with into the nodes of the path, from below.
    void growUp(Changing &changing, Holder holder, Path &path, uint64_t separator, Link added) {
        while (path.depth > 0) {
            Interior *node = path.nodes[--path.depth];
            uint32_t index = path.indexes[path.depth];
            bool is_full = node->count == Interior::Slices;
            changing.add(node->version, is_full ? mtree::version::Splitting : mtree::version::Inserting);
            engine.writing(node);
            if (!is_full)
                return insertChild(node, index, separator, added);
            Interior *right = makeInterior();
            uint64_t middle = moveHalf(node, right);
            if (index < HalfSlices)
                insertChild(node, index, separator, added);
            else
                insertChild(right, index - HalfSlices, separator, added);
            separator = middle;
            added = linkTo(right);
        }
        Interior *top = makeInterior();
        mtree::store(top->children[0], *holder.link);
        insertChild(top, 0, separator, added);
        setTop(changing, holder, linkTo(top));
    }

    static constexpr uint32_t HalfSlices = (Interior::Slices + 1) / 2;

    // Moves the upper half of a full node. Returns the slice between the halves.
    static uint64_t moveHalf(Interior *node, Interior *right) {
        uint32_t moved = Interior::Slices - HalfSlices;
        for (uint32_t i = 0; i < moved; i++)
            mtree::store(right->slices[i], node->slices[HalfSlices + i]);
        for (uint32_t i = 0; i <= moved; i++)
            mtree::store(right->children[i], node->children[HalfSlices + i]);
        mtree::store(right->count, uint64_t{moved});
        mtree::store(node->count, uint64_t{HalfSlices - 1});
        return node->slices[HalfSlices - 1];
    }

    static void insertChild(Interior *node, uint32_t index, uint64_t separator, Link added) {
        for (auto i = static_cast<uint32_t>(node->count); i > index; i--) {
            mtree::store(node->slices[i], node->slices[i - 1]);
            mtree::store(node->children[i + 1], node->children[i]);
        }
        mtree::store(node->slices[index], separator);
        mtree::store(node->children[index + 1], added);
        mtree::store(node->count, node->count + 1);
    }

    void setTop(Changing &changing, Holder holder, Link top) {
        changing.add(*holder.version, mtree::version::Inserting);
        engine.writing(holder.link);
        mtree::store(*holder.link, top);
    }

    // ---- Removal ----

    bool eraseBelow(Holder holder, Cursor cursor) {
        Path path = pathTo(*holder.link, cursor.slice());
        Border *border = path.border;
        Permutation order(border->permutation);
        auto [position, found] = border->place(order, cursor.slice(), cursor.ending());
        if (!found)
            return false;
        uint32_t slot = order.at(position);
        Link link = border->links[slot];
        if (border->endings[slot] != mtree::Layer) {
            if (!at<Record>(link)->has(cursor.rest()))
                return false;
            removeAt(holder, path, position);
            giveBack(at<Record>(link));
            return true;
        }
        Cursor inner = cursor;
        inner.descend();
        if (!eraseBelow({&border->version, &border->links[slot]}, inner))
            return false;
        auto below = at<Border>(border->links[slot]);
        if ((below->version & mtree::version::Border) && Permutation(below->permutation).count() == 0) {
            removeAt(holder, path, position);
            giveBack(below);
        }
        return true;
    }

    void removeAt(Holder holder, Path &path, uint32_t position) {
        Border *border = path.border;
        Permutation order = Permutation(border->permutation).removed(position);
        engine.writing(&border->version, 2); // the version and the permutation
        mtree::store(border->permutation, order.bits());
        mtree::store(border->version, border->version + mtree::version::Inserted);
        if (order.count() == 0 && path.depth > 0)
            unlink(holder, path);
    }

    // Removes a border node without keys, and the nodes above it that have no other child.
    void unlink(Holder holder, Path &path) {
        Changing changing(engine);
        Border *border = path.border;
        changing.add(border->version, mtree::version::Splitting);
        if (border->previous) {
            auto before = at<Border>(border->previous);
            changing.add(before->version, mtree::version::Inserting);
            engine.writing(&before->next);
            mtree::store(before->next, border->next);
        }
        if (border->next) {
            auto after = at<Border>(border->next);
            engine.writing(&after->previous);
            mtree::store(after->previous, border->previous);
        }
        giveBack(border);
        Interior *node = path.nodes[--path.depth];
        for (; node->count == 0; node = path.nodes[--path.depth]) {
            changing.add(node->version, mtree::version::Splitting);
            giveBack(node);
        }
        changing.add(node->version, mtree::version::Inserting);
        engine.writing(node);
        removeChild(node, path.indexes[path.depth]);
        if (path.depth == 0 && node->count == 0)
            shrinkDown(changing, holder);
    }

    static void removeChild(Interior *node, uint32_t index) {
        for (uint32_t i = index == 0 ? 0 : index - 1; i + 1 < node->count; i++)
            mtree::store(node->slices[i], node->slices[i + 1]);
        for (uint32_t i = index; i < node->count; i++)
            mtree::store(node->children[i], node->children[i + 1]);
        mtree::store(node->count, node->count - 1);
    }

    // The top of a tree must have more than one child: removes tops until it has, or is a border node.
    void shrinkDown(Changing &changing, Holder holder) {
        Link top = *holder.link;
        for (;;) {
            auto node = at<Interior>(top);
            if ((node->version & mtree::version::Border) || node->count > 0)
                break;
            top = node->children[0];
            changing.add(node->version, mtree::version::Splitting);
            giveBack(node);
        }
        setTop(changing, holder, top);
    }

    // ---- Memory ----

    // Takes the node or record that was given back last, and announces all of it; nullptr if there is none.
    template <class T> T *takeBack(Link &free, Link T::*next, size_t bytes) {
        if (!free)
            return nullptr;
        auto taken = at<T>(free);
        engine.writing(reinterpret_cast<char *>(taken), bytes);
        engine.writing(&free);
        mtree::store(free, taken->*next);
        return taken;
    }

    template <class T> T *allocate() {
        auto fresh = engine.template allocate<T>(1).get();
        engine.fresh(fresh);
        memset(static_cast<void *>(fresh), 0, sizeof(T));
        return fresh;
    }

    Border *makeBorder() {
        Border *border = takeBack(root->free_borders, &Border::next, sizeof(Border));
        if (!border)
            border = allocate<Border>();
        mtree::store(border->permutation, Permutation().bits());
        mtree::store(border->next, Link{0});
        mtree::store(border->previous, Link{0});
        begin(border, mtree::version::Border);
        return border;
    }

    Interior *makeInterior() {
        Link &free = root->free_interiors;
        Interior *node = free ? at<Interior>(free) : nullptr;
        if (node) {
            engine.writing(node);
            engine.writing(&free);
            mtree::store(free, node->children[0]);
        } else {
            node = allocate<Interior>();
        }
        mtree::store(node->count, uint64_t{0});
        begin(node, 0);
        return node;
    }

    static void begin(Node *node, uint64_t kind) {
        uint64_t counters = node->version / mtree::version::Inserted * mtree::version::Inserted;
        mtree::store(node->version, (counters + mtree::version::Split) | kind);
    }

    void giveBack(Border *border) {
        end(border);
        engine.writing(&border->next);
        mtree::store(border->next, root->free_borders);
        engine.writing(&root->free_borders);
        mtree::store(root->free_borders, linkTo(border));
    }
    void giveBack(Interior *node) {
        end(node);
        engine.writing(&node->children[0]);
        mtree::store(node->children[0], root->free_interiors);
        engine.writing(&root->free_interiors);
        mtree::store(root->free_interiors, linkTo(node));
    }
    // The version has already been announced: a node that is given back was changed before.
    static void end(Node *node) {
        mtree::store(node->version, (node->version + mtree::version::Split) | mtree::version::Deleted);
    }

    template <size_t Bytes> struct Block {
        uint64_t words[Bytes / sizeof(uint64_t)];
    };
    template <size_t Number = 0> Record *allocateRecord(size_t number) {
        if constexpr (Number < std::size(mtree::RecordSizes)) {
            if (number == Number)
                return reinterpret_cast<Record *>(allocate<Block<mtree::RecordSizes[Number]>>());
            return allocateRecord<Number + 1>(number);
        }
        throw std::logic_error("a record is larger than any");
    }

    Record *makeRecord(std::string_view rest, uint64_t value) {
        size_t bytes = Record::bytesOf(rest.size()), number = mtree::sizeNumberOf(bytes);
        Record *record = takeBack(root->free_records[number], &Record::value, bytes);
        if (!record)
            record = allocateRecord(number);
        mtree::store(record->value, value);
        mtree::store(record->rest_bytes, uint64_t{rest.size()});
        for (size_t i = 0; i < Record::wordsOf(rest.size()); i++)
            mtree::store(record->rest[i], Record::wordOf(rest, i));
        return record;
    }
    void giveBack(Record *record) {
        Link &free = root->free_records[mtree::sizeNumberOf(Record::bytesOf(record->rest_bytes))];
        engine.writing(&record->value);
        mtree::store(record->value, free);
        engine.writing(&free);
        mtree::store(free, linkTo(record));
    }

    Engine &engine;
    Root *root;
    SpinLock writers;
};

} // namespace workloads
