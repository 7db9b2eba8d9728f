/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
#include "fams.h"

#include "persist.h"

enum { HEADER_BYTES = sizeof(struct fams_header) + sizeof(struct fams_generation) };

static struct fams_header *header_of(struct fams_space space) { return space.base; }

static struct fams_generation *generation_of(struct fams_space space) {
    return (struct fams_generation *)(header_of(space) + 1);
}

static struct fams_set *set_of(const struct fams *fams, uint64_t commit) {
    uint8_t *first = (uint8_t *)fams->space.base + HEADER_BYTES;
    return (struct fams_set *)(first + commit % FAMS_SETS * fams_set_bytes(fams->capacity));
}

static uint8_t *content_of(const struct fams *fams, struct fams_set *set, uint64_t index) {
    return (uint8_t *)set->numbers + fams_list_bytes(fams->capacity) + index * FAMS_PAGE_BYTES;
}

static uint8_t *data_of(const struct fams *fams, uint64_t number) {
    return (uint8_t *)fams->space.base + header_of(fams->space)->journal_bytes + number * FAMS_PAGE_BYTES;
}

/* ---- Checksums: against accidents, not against a forged journal ---- */

/* For any given sum, different words give different results, and for any given word, different sums do. So no single
 * difference is lost. */
static uint64_t mix(uint64_t sum, uint64_t word) {
    sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
    return sum ^ sum >> 29;
}

static uint64_t mix_all(uint64_t sum, const void *bytes, uint64_t count) {
    const uint64_t *words = bytes;
    for (uint64_t i = 0; i < count / sizeof(*words); i++)
        sum = mix(sum, words[i]);
    return sum;
}

static uint64_t sum_begin(const struct fams *fams, uint64_t commit) {
    return mix(mix(FAMS_MAGIC, fams->generation), commit);
}

static uint64_t sum_page(uint64_t sum, uint64_t number, const void *content) {
    return mix_all(mix(sum, number), content, FAMS_PAGE_BYTES);
}

static uint64_t sum_end(uint64_t sum, uint64_t count) { return mix(sum, count); }

static uint64_t set_sum(const struct fams *fams, struct fams_set *set) {
    uint64_t sum = sum_begin(fams, set->commit);
    for (uint64_t i = 0; i < set->count; i++)
        sum = sum_page(sum, set->numbers[i], content_of(fams, set, i));
    return sum_end(sum, set->count);
}

static uint64_t header_sum(const struct fams_header *header) {
    return mix_all(FAMS_MAGIC, &header->bytes, sizeof(*header) - offsetof(struct fams_header, bytes));
}

/* ---- A new store ---- */

/* The first estimate assumes a nearly empty last line of the list; the loop adds the pages that also fit. */
uint64_t fams_capacity_of(uint64_t journal_bytes) {
    const uint64_t least = sizeof(struct fams_set) + FAMS_LINE_BYTES - sizeof(uint64_t);
    uint64_t room = journal_bytes > HEADER_BYTES ? (journal_bytes - HEADER_BYTES) / FAMS_SETS : 0;
    uint64_t capacity = room > least ? (room - least) / (FAMS_PAGE_BYTES + sizeof(uint64_t)) : 0;
    while (fams_set_bytes(capacity + 1) <= room)
        capacity++;
    return capacity;
}

static void write_header(struct fams_space space, const struct fams_header *header) {
    persist_copy(header_of(space), header, sizeof(*header));
    persist_fence();
}

static void write_generation(struct fams_space space, uint64_t number) {
    struct fams_generation line __attribute__((aligned(FAMS_LINE_BYTES))) = {.number = number};
    persist_copy(generation_of(space), &line, sizeof(line));
    persist_fence();
}

static int check_sizes(struct fams_space space, uint64_t journal_bytes) {
    if (journal_bytes % FAMS_PAGE_BYTES)
        return -EINVAL;
    if (space.bytes < FAMS_PAGE_BYTES || journal_bytes > space.bytes - FAMS_PAGE_BYTES ||
        fams_capacity_of(journal_bytes) == 0)
        return -ENOSPC;
    return 0;
}

/* The header comes last: without it there is no store. */
int fams_make(struct fams_space space, uint64_t journal_bytes) {
    struct fams_header header __attribute__((aligned(FAMS_LINE_BYTES))) = {0};
    int status = check_sizes(space, journal_bytes);
    if (status < 0)
        return status;
    write_header(space, &header);
    /* The new generation invalidates sets that are here by accident, or from an older store. */
    write_generation(space, generation_of(space)->number + 1);
    header = (struct fams_header){.magic = FAMS_MAGIC, .bytes = space.bytes, .journal_bytes = journal_bytes};
    header.page_bytes = FAMS_PAGE_BYTES;
    header.sum = header_sum(&header);
    write_header(space, &header);
    return 0;
}

/* ---- Invariants: a broken one stops commits, as the code or the memory can no longer be trusted ---- */

static int require(struct fams *fams, bool holds, const char *what) {
    if (!holds && !fams->broken)
        fams->broken = what;
    return fams->broken ? -EUCLEAN : 0;
}

/* Checks a set with pages that are not in the data yet. Its lines are read again when they are copied. */
static int check_set(struct fams *fams, uint64_t commit) {
    const struct fams_set *set = set_of(fams, commit);
    int status = require(fams, set->commit == commit && set->count > 0 && set->count <= fams->capacity,
                         "the set of the last commit was overwritten");
    for (uint64_t i = 0; status == 0 && i < set->count; i++)
        status = require(fams, set->numbers[i] < fams->data_pages, "the last commit has a page behind the data");
    return status;
}

static int check_commit(struct fams *fams) {
    int status = require(fams, fams->open.count <= fams->capacity && fams->open.count == fams->open.announced,
                         "a commit has other pages than those that were announced");
    if (status == 0)
        status = require(fams, fams->applied <= fams->committed && fams->committed - fams->applied < FAMS_SETS,
                         "a commit would overwrite a set that the data still need");
    return status == 0 && fams->applied < fams->committed ? check_set(fams, fams->committed) : status;
}

/* ---- Commits ---- */

int fams_begin(struct fams *fams, uint64_t count) {
    if (fams->broken)
        return -EUCLEAN;
    if (count > fams->capacity)
        return -EFBIG;
    fams->open.announced = count;
    fams->open.count = 0;
    fams->open.sum = sum_begin(fams, fams->committed + 1);
    return 0;
}

/* Writes the line of the list that contains this place. Words behind the place are written, too, and have no
 * meaning. */
static void write_list_line(struct fams *fams, struct fams_set *set, uint64_t place) {
    persist_copy(set->numbers + place / FAMS_LINE_WORDS * FAMS_LINE_WORDS, fams->open.line, FAMS_LINE_BYTES);
}

int fams_append(struct fams *fams, uint64_t number, const void *content) {
    struct fams_set *set = set_of(fams, fams->committed + 1);
    uint64_t place = fams->open.count;
    if (fams->broken)
        return -EUCLEAN;
    if (number >= fams->data_pages)
        return -EINVAL;
    if (place >= fams->capacity)
        return -EFBIG;
    fams->open.line[place % FAMS_LINE_WORDS] = number;
    if (place % FAMS_LINE_WORDS == FAMS_LINE_WORDS - 1)
        write_list_line(fams, set, place);
    persist_copy(content_of(fams, set, place), content, FAMS_PAGE_BYTES);
    fams->open.sum = sum_page(fams->open.sum, number, content);
    fams->open.count++;
    return 0;
}

static void copy_home(struct fams *fams, uint64_t commit) {
    struct fams_set *set = set_of(fams, commit);
    for (uint64_t i = 0; i < set->count; i++)
        persist_copy(data_of(fams, set->numbers[i]), content_of(fams, set, i), FAMS_PAGE_BYTES);
}

int fams_commit(struct fams *fams) {
    struct fams_set start __attribute__((aligned(FAMS_LINE_BYTES))) = {.commit = fams->committed + 1};
    struct fams_set *set = set_of(fams, start.commit);
    int status;
    start.count = fams->open.count;
    if (start.count == 0)
        return fams->broken ? -EUCLEAN : 0;
    status = check_commit(fams);
    if (status < 0)
        return status;
    start.sum = sum_end(fams->open.sum, start.count);
    if (start.count % FAMS_LINE_WORDS)
        write_list_line(fams, set, start.count - 1);
    persist_copy(set, &start, sizeof(start));
    if (fams->applied < fams->committed)
        copy_home(fams, fams->committed);
    persist_fence();
    fams->applied = fams->committed;
    fams->committed = start.commit;
    fams->open.count = 0;
    return 0;
}

int fams_apply_page(struct fams *fams, uint64_t number, const void *content) {
    int status = require(fams, number < fams->data_pages, "a page behind the data was to be applied");
    if (status == 0)
        persist_copy(data_of(fams, number), content, FAMS_PAGE_BYTES);
    return status;
}

int fams_apply_end(struct fams *fams) {
    if (fams->broken)
        return -EUCLEAN;
    persist_fence();
    fams->applied = fams->committed;
    return 0;
}

int fams_apply(struct fams *fams) {
    int status = fams->broken ? -EUCLEAN : 0;
    if (status < 0 || fams->applied == fams->committed)
        return status;
    status = check_set(fams, fams->committed);
    if (status < 0)
        return status;
    copy_home(fams, fams->committed);
    return fams_apply_end(fams);
}

const void *fams_page(const struct fams *fams, uint64_t number) { return data_of(fams, number); }

/* ---- Recovery ---- */

static int check_header(struct fams_space space) {
    const struct fams_header *header = header_of(space);
    if (space.bytes < FAMS_PAGE_BYTES || header->magic != FAMS_MAGIC || header->sum != header_sum(header) ||
        header->page_bytes != FAMS_PAGE_BYTES || header->bytes != space.bytes)
        return -ENODATA;
    return check_sizes(space, header->journal_bytes) < 0 ? -ENODATA : 0;
}

/* The commit of a set if the set is whole, else 0. */
static uint64_t whole_in(const struct fams *fams, uint64_t parity) {
    struct fams_set *set = set_of(fams, parity);
    if (set->count == 0 || set->count > fams->capacity || set->commit == 0 || set->commit % FAMS_SETS != parity)
        return 0;
    if (set->sum != set_sum(fams, set))
        return 0;
    for (uint64_t i = 0; i < set->count; i++)
        if (set->numbers[i] >= fams->data_pages)
            return 0;
    return set->commit;
}

/* Copies the older commit first. If only the newer one is whole, the older one's pages were durable in the data before
 * its set was written again. */
static void replay(struct fams *fams) {
    uint64_t even = whole_in(fams, 0), odd = whole_in(fams, 1);
    uint64_t older = even < odd ? even : odd, newer = even + odd - older;
    if (older > 0)
        copy_home(fams, older);
    if (newer > 0)
        copy_home(fams, newer);
}

int fams_open(struct fams *fams, struct fams_space space) {
    int status = check_header(space);
    if (status < 0)
        return status;
    *fams = (struct fams){.space = space, .generation = generation_of(space)->number};
    fams->capacity = fams_capacity_of(header_of(space)->journal_bytes);
    fams->data_pages = (space.bytes - header_of(space)->journal_bytes) / FAMS_PAGE_BYTES;
    replay(fams);
    persist_fence();
    /* The data now contain the commits of both sets, so the next generation invalidates the sets. */
    write_generation(space, ++fams->generation);
    return 0;
}

void fams_close(struct fams *fams) { fams_apply(fams); }
