/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls that run functions of the program, which may commit. If such a function did, the range that the call writes in
 * place is announced again before the function returns to it. All other output goes to private memory (bounce.h).
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <glob.h>
#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <threads.h>

#include "bounce.h"

typedef int compare_function(const void *, const void *);
typedef int compare_with_function(const void *, const void *, void *);

struct sort {
    compare_function *compare;
    compare_with_function *compare_with;
    void *data;
    struct kept array;
};

static int sort_compare(const void *a, const void *b, void *context) {
    struct sort *sort = context;
    int order = sort->compare ? sort->compare(a, b) : sort->compare_with(a, b, sort->data);
    keep_again(&sort->array);
    return order;
}

void WRAP(qsort)(void *base, size_t count, size_t size, compare_function *compare);
void WRAP(qsort)(void *base, size_t count, size_t size, compare_function *compare) {
    struct sort sort = {.compare = compare};
    if (!tracked(base)) {
        qsort(base, count, size, compare);
        return;
    }
    keep_begin(&sort.array, base, count * size);
    qsort_r(base, count, size, sort_compare, &sort);
}

void WRAP(qsort_r)(void *base, size_t count, size_t size, compare_with_function *compare, void *data);
void WRAP(qsort_r)(void *base, size_t count, size_t size, compare_with_function *compare, void *data) {
    struct sort sort = {.compare_with = compare, .data = data};
    keep_begin(&sort.array, base, count * size);
    if (tracked(base))
        qsort_r(base, count, size, sort_compare, &sort);
    else
        qsort_r(base, count, size, compare, data);
}

/* An array that grows by one item: nothing is written before the last comparison. */
void *WRAP(lsearch)(const void *key, void *base, size_t *count, size_t size, compare_function *compare);
void *WRAP(lsearch)(const void *key, void *base, size_t *count, size_t size, compare_function *compare) {
    void *end = (char *)base + *count * size;
    void *found = lfind(key, base, count, size, compare);
    if (found)
        return found;
    writes(end, size);
    memcpy(end, key, size);
    OUT(count);
    ++*count;
    return end;
}

/* The nodes belong to libc, the root to the caller. */
WRAPPER(void *, tsearch, (const void *key, void **root, compare_function *compare), (key, root, compare), ASIDE(root))
WRAPPER(void *, tdelete, (const void *key, void **root, compare_function *compare), (key, root, compare), ASIDE(root))

typedef int filter_function(const struct dirent *);
typedef int order_function(const struct dirent **, const struct dirent **);
WRAPPER(int, scandir, (const char *path, struct dirent ***list, filter_function *filter, order_function *order),
        (path, list, filter, order), ASIDE(list))
WRAPPER(int, scandirat,
        (int folder, const char *path, struct dirent ***list, filter_function *filter, order_function *order),
        (folder, path, list, filter, order), ASIDE(list))
WRAPPER(int, glob, (const char *pattern, int flags, int (*error)(const char *, int), glob_t *found),
        (pattern, flags, error, found), ASIDE(found))

/* The routine has no argument through which to find its frame. */
struct once {
    void (*routine)(void);
    struct kept flag;
};
static _Thread_local struct once *once_begun;

static void once_again(struct once **once) { keep_again(&(*once)->flag); }

/* Announces after an exception, too: pthread_once() then writes the flag's first value again. */
static void once_run(void) {
    __attribute__((cleanup(once_again))) struct once *once = once_begun;
    once->routine();
}

int WRAP(pthread_once)(pthread_once_t *flag, void (*routine)(void));
int WRAP(pthread_once)(pthread_once_t *flag, void (*routine)(void)) {
    struct once once = {.routine = routine};
    if (!tracked(flag))
        return pthread_once(flag, routine);
    keep_begin(&once.flag, flag, sizeof(*flag));
    once_begun = &once;
    return pthread_once(flag, once_run);
}

/* In glibc it is the same function; once_flag is the same type in a structure. */
_Static_assert(sizeof(once_flag) == sizeof(pthread_once_t), "call_once() is pthread_once()");
void WRAP(call_once)(once_flag *flag, void (*routine)(void));
void WRAP(call_once)(once_flag *flag, void (*routine)(void)) { WRAP(pthread_once)((pthread_once_t *)flag, routine); }
