/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mapping and the wear as a string of bytes, and back. Little-endian:
 *
 *   "CXLFLASH", u32 version, u32 flash_ftl; without a translation layer only the checksum follows
 *   u64 logical pages, planes, blocks of a plane, pages of a block: must equal the device's
 *   u64 next plane in turn; u64 host programs, moves, erases so far
 *   u64 the clock of each plane
 *   u64 count of changed tables of the mapping; each: u64 index, u64 physical page of each logical page
 *   u64 count of changed blocks; each: u64 number, u64 modified, u32 wear, u32 pages written
 *   u32 CRC-32C of all bytes before
 *
 * Tables and blocks are in ascending order. The pages in a block, the free blocks and the lists of full blocks are
 * derived from these.
 */
#include <stdlib.h>
#include <string.h>

#include "../base/crc32c.h"
#include "../base/mem_alloc.h"
#include "flash.h"
#include "ftl_internal.h"

#define MAGIC "CXLFLASH"
#define MAGIC_BYTES 8u
#define VERSION 1u
#define MAX_CLOCK (UINT64_C(1) << 62) /* so that no counter can overflow in the life of a device */
#define MAX_WEAR (1u << 30)

/* ---- Saving ---- */

typedef struct Writer {
    MemFlashSink *sink;
    void *opaque;
    uint32_t crc;
} Writer;

static void put(Writer *w, const void *bytes, size_t count) {
    w->crc = mem_crc32c(w->crc, bytes, count);
    w->sink(w->opaque, bytes, count);
}

static void put_number(Writer *w, uint64_t n, unsigned bytes) {
    uint8_t little[8];

    for (unsigned i = 0; i < bytes; i++) {
        little[i] = (uint8_t)(n >> (8 * i));
    }
    put(w, little, bytes);
}

static void put_u32(Writer *w, uint64_t n) { put_number(w, n, 4); }
static void put_u64(Writer *w, uint64_t n) { put_number(w, n, 8); }

static uint64_t leaf_pages(const MemFlashGeometry *g, uint64_t leaf) {
    uint64_t left = g->logical_pages - leaf * MEM_FTL_LEAF_PAGES;
    return left < MEM_FTL_LEAF_PAGES ? left : MEM_FTL_LEAF_PAGES;
}

static void save_mapping(Writer *w, const MemFtlMap *ftl) {
    uint64_t leaves = mem_ftl_leaf_count(&ftl->geometry);
    uint64_t changed = 0;

    for (uint64_t i = 0; i < leaves; i++) {
        changed += ftl->leaves[i] != NULL;
    }
    put_u64(w, changed);
    for (uint64_t i = 0; i < leaves; i++) {
        if (!ftl->leaves[i]) {
            continue;
        }
        put_u64(w, i);
        for (uint64_t page = 0; page < leaf_pages(&ftl->geometry, i); page++) {
            put_u64(w, ftl->leaves[i][page]);
        }
    }
}

static void save_blocks(Writer *w, const MemFtlMap *ftl) {
    uint64_t changed = 0;
    uint64_t id = 0;

    for (const MemFlashBlock *b; (b = mem_ftl_next_changed(ftl, &id)) != NULL; id++) {
        changed++;
    }
    put_u64(w, changed);
    id = 0;
    for (const MemFlashBlock *b; (b = mem_ftl_next_changed(ftl, &id)) != NULL; id++) {
        put_u64(w, id);
        put_u64(w, b->modified);
        put_u32(w, b->wear);
        put_u32(w, b->written);
    }
}

static void save_map(Writer *w, const MemFtlMap *ftl) {
    const MemFlashGeometry *g = &ftl->geometry;

    put_u64(w, g->logical_pages);
    put_u64(w, g->planes);
    put_u64(w, g->blocks);
    put_u64(w, g->block_pages);
    put_u64(w, ftl->next_plane);
    put_u64(w, ftl->totals.host_programs);
    put_u64(w, ftl->totals.gc_moves);
    put_u64(w, ftl->totals.erases);
    for (uint64_t plane = 0; plane < g->planes; plane++) {
        put_u64(w, ftl->planes[plane].clock);
    }
    save_mapping(w, ftl);
    save_blocks(w, ftl);
}

void mem_flash_save(const MemFlash *f, MemFlashSink *sink, void *opaque) {
    Writer w = {.sink = sink, .opaque = opaque};

    put(&w, MAGIC, MAGIC_BYTES);
    put_u32(&w, VERSION);
    put_u32(&w, f->ftl ? MEM_FTL_PAGE : MEM_FTL_NONE);
    if (f->ftl) {
        save_map(&w, f->ftl);
    }
    put_u32(&w, w.crc);
}

/* ---- Loading ---- */

typedef struct Reader {
    const uint8_t *next;
    size_t left;
    bool short_of; /* more bytes were requested than were left */
} Reader;

/* The next number, or 0 if the bytes end before it does. */
static uint64_t get_number(Reader *r, unsigned bytes) {
    uint64_t n = 0;

    if (r->left < bytes) {
        r->short_of = true;
        return 0;
    }
    for (unsigned i = 0; i < bytes; i++) {
        n |= (uint64_t)r->next[i] << (8 * i);
    }
    r->next += bytes;
    r->left -= bytes;
    return n;
}

static uint64_t get_u64(Reader *r) { return get_number(r, 8); }
static uint32_t get_u32(Reader *r) { return (uint32_t)get_number(r, 4); }

#define REQUIRE(rule, sentence)                                                                                        \
    do {                                                                                                               \
        if (!(rule)) {                                                                                                 \
            return "flash state: " sentence;                                                                           \
        }                                                                                                              \
    } while (0)

static const char *load_heads(Reader *r, MemFtlMap *ftl) {
    const MemFlashGeometry *g = &ftl->geometry;
    uint64_t logical_pages = get_u64(r);
    uint64_t planes = get_u64(r);
    uint64_t blocks = get_u64(r);
    uint64_t block_pages = get_u64(r);

    REQUIRE(logical_pages == g->logical_pages && planes == g->planes && blocks == g->blocks &&
                block_pages == g->block_pages,
            "it is of a device of another geometry");
    ftl->next_plane = get_u64(r);
    REQUIRE(ftl->next_plane < planes, "the turn is that of a plane it does not have");
    ftl->totals.host_programs = get_u64(r);
    ftl->totals.gc_moves = get_u64(r);
    ftl->totals.erases = get_u64(r);
    for (uint64_t plane = 0; plane < planes; plane++) {
        ftl->planes[plane].clock = get_u64(r);
        REQUIRE(ftl->planes[plane].clock <= MAX_CLOCK, "a plane has changed too often to be true");
    }
    return NULL;
}

static const char *load_mapping(Reader *r, MemFtlMap *ftl) {
    const MemFlashGeometry *g = &ftl->geometry;
    uint64_t changed = get_u64(r);
    uint64_t least = 0;

    for (uint64_t i = 0; i < changed; i++) {
        uint64_t index = get_u64(r);
        REQUIRE(index >= least && index < mem_ftl_leaf_count(g), "its tables of the mapping are out of order");
        REQUIRE(r->left >= leaf_pages(g, index) * 8, "it ends too early");
        uint64_t *leaf = mem_ftl_leaf(ftl, index * MEM_FTL_LEAF_PAGES);
        for (uint64_t page = 0; page < leaf_pages(g, index); page++) {
            leaf[page] = get_u64(r);
            REQUIRE(leaf[page] < g->planes * g->blocks * g->block_pages, "a page is mapped beyond the flash");
        }
        least = index + 1;
    }
    return NULL;
}

static const char *load_blocks(Reader *r, MemFtlMap *ftl) {
    const MemFlashGeometry *g = &ftl->geometry;
    uint64_t changed = get_u64(r);
    uint64_t least = 0;

    for (uint64_t i = 0; i < changed; i++) {
        uint64_t id = get_u64(r);
        REQUIRE(id >= least && id < g->planes * g->blocks, "its blocks are out of order");
        REQUIRE(r->left >= 16, "it ends too early");
        MemFlashBlock *b = mem_ftl_block(ftl, id / g->blocks, (uint32_t)(id % g->blocks));
        memset(b->pages, 0xff, g->block_pages * sizeof(*b->pages)); /* MEM_FTL_NO_PAGE */
        b->valid = 0;
        b->modified = get_u64(r);
        b->wear = get_u32(r);
        b->written = get_u32(r);
        REQUIRE(b->modified <= ftl->planes[id / g->blocks].clock, "a block changed later than its plane");
        REQUIRE(b->wear <= MAX_WEAR, "a block has been erased too often to be true");
        REQUIRE(b->written <= g->block_pages, "a block has more pages written than it has");
        least = id + 1;
    }
    return NULL;
}

/* Put a logical page at this place of a changed block. */
static const char *put_page(MemFlashBlock *b, uint32_t index, uint64_t page) {
    REQUIRE(index < b->written, "a page is mapped to one that is not written");
    REQUIRE(b->pages[index] == MEM_FTL_NO_PAGE, "two pages are mapped to one");
    b->valid += b->pages[index] == MEM_FTL_NO_PAGE;
    b->pages[index] = page;
    return NULL;
}

/* Fill the changed blocks with the pages that the changed tables map to them. */
static const char *place_mapped(MemFtlMap *ftl) {
    const MemFlashGeometry *g = &ftl->geometry;

    for (uint64_t leaf = 0; leaf < mem_ftl_leaf_count(g); leaf++) {
        for (uint64_t i = 0; ftl->leaves[leaf] && i < leaf_pages(g, leaf); i++) {
            uint64_t page = leaf * MEM_FTL_LEAF_PAGES + i;
            MemFlashPlace place = mem_ftl_place(g, ftl->leaves[leaf][i]);
            const char *fault = NULL;
            if (mem_ftl_peek(ftl, place.plane, place.block)) {
                fault = put_page(mem_ftl_block(ftl, place.plane, place.block), place.index, page);
            } else {
                REQUIRE(ftl->leaves[leaf][i] == mem_ftl_first_number(g, page),
                        "a page is mapped to an unchanged block");
            }
            if (fault) {
                return fault;
            }
        }
    }
    return NULL;
}

/* Fill a changed block with the pages that it has held since the start. */
static const char *place_first(MemFtlMap *ftl, uint64_t plane, uint32_t block) {
    const MemFlashGeometry *g = &ftl->geometry;

    for (uint32_t i = 0; i < mem_ftl_first_written(g, plane, block); i++) {
        uint64_t page = mem_ftl_first_page(g, plane, block, i);
        const char *fault = NULL;
        if (!ftl->leaves[page / MEM_FTL_LEAF_PAGES]) {
            fault = put_page(mem_ftl_block(ftl, plane, block), i, page);
        }
        if (fault) {
            return fault;
        }
    }
    return NULL;
}

/* Add a changed block to its plane's state. The blocks of a plane come in ascending order. */
static const char *join_plane(MemFtlMap *ftl, uint64_t plane, uint32_t block, const MemFlashBlock *b) {
    MemFlashPlane *p = &ftl->planes[plane];

    p->live += b->valid;
    p->live -= mem_ftl_first_written(&ftl->geometry, plane, block);
    REQUIRE(block <= p->fresh, "a block was used before a lower one that was not");
    p->fresh += block == p->fresh;
    if (b->written == 0) {
        mem_ftl_add_erased(p, block);
    } else if (b->written < ftl->geometry.block_pages) {
        REQUIRE(p->open == MEM_FTL_NO_BLOCK, "a plane has two write points");
        p->open = block;
    }
    return NULL;
}

typedef struct ListedBlock {
    uint64_t plane;
    uint64_t modified;
    uint32_t block;
} ListedBlock;

static int by_modified(const void *a, const void *b) {
    const ListedBlock *x = a;
    const ListedBlock *y = b;

    if (x->plane != y->plane) {
        return x->plane < y->plane ? -1 : 1;
    }
    return (x->modified > y->modified) - (x->modified < y->modified);
}

/* List the full blocks with an invalid page. */
static void link_blocks(MemFtlMap *ftl, size_t changed) {
    const MemFlashGeometry *g = &ftl->geometry;
    ListedBlock *listed = mem_calloc(changed + 1, sizeof(*listed));
    size_t count = 0;
    uint64_t id = 0;

    for (const MemFlashBlock *b; (b = mem_ftl_next_changed(ftl, &id)) != NULL; id++) {
        if (b->written == g->block_pages && b->valid < b->written) {
            listed[count++] = (ListedBlock){id / g->blocks, b->modified, (uint32_t)(id % g->blocks)};
        }
    }
    qsort(listed, count, sizeof(*listed), by_modified);
    for (size_t i = 0; i < count; i++) {
        mem_ftl_link(ftl, listed[i].plane, listed[i].block);
    }
    free(listed);
}

/* Derive all state that follows from the mapping and the blocks. */
static const char *derive(MemFtlMap *ftl) {
    const MemFlashGeometry *g = &ftl->geometry;
    const char *fault = place_mapped(ftl);
    size_t changed = 0;
    uint64_t id = 0;

    for (uint64_t plane = 0; plane < g->planes; plane++) {
        MemFlashPlane *p = &ftl->planes[plane];
        bool kept = p->open != MEM_FTL_NO_BLOCK && !mem_ftl_peek(ftl, plane, p->open);
        p->open = kept ? p->open : MEM_FTL_NO_BLOCK;
    }
    for (const MemFlashBlock *b; !fault && (b = mem_ftl_next_changed(ftl, &id)) != NULL; id++) {
        uint64_t plane = id / g->blocks;
        uint32_t block = (uint32_t)(id % g->blocks);
        fault = place_first(ftl, plane, block);
        fault = fault ? fault : join_plane(ftl, plane, block, b);
        changed++;
    }
    if (!fault) {
        link_blocks(ftl, changed);
    }
    return fault;
}

/* Whether cleaning, if it becomes due, has room to move the pages of a block. */
static bool can_clean(const MemFtlMap *ftl, uint64_t plane) {
    const MemFlashGeometry *g = &ftl->geometry;
    const MemFlashPlane *p = &ftl->planes[plane];
    uint64_t room = mem_ftl_free_blocks(ftl, plane) * g->block_pages;

    if (p->open != MEM_FTL_NO_BLOCK) {
        const MemFlashBlock *b = mem_ftl_peek(ftl, plane, p->open);
        room += g->block_pages - (b ? b->written : mem_ftl_first_written(g, plane, p->open));
    }
    return room >= g->block_pages - 1;
}

static const char *load_map(Reader *r, MemFtlMap *ftl) {
    const char *fault = load_heads(r, ftl);

    fault = fault ? fault : load_mapping(r, ftl);
    fault = fault ? fault : load_blocks(r, ftl);
    if (fault) {
        return fault;
    }
    REQUIRE(!r->short_of, "it ends too early");
    REQUIRE(r->left == 0, "it goes on after its end");
    fault = derive(ftl);
    if (fault) {
        return fault;
    }
    REQUIRE(!mem_ftl_check(ftl), "its counts do not agree");
    for (uint64_t plane = 0; plane < ftl->geometry.planes; plane++) {
        REQUIRE(can_clean(ftl, plane), "a plane has no room to clean");
    }
    return NULL;
}

const char *mem_flash_load(MemFlash *f, const void *bytes, size_t count) {
    const uint8_t *head = bytes;

    REQUIRE(count >= MAGIC_BYTES + 12 && memcmp(head, MAGIC, MAGIC_BYTES) == 0, "it does not start as one does");
    Reader r = {.next = head + MAGIC_BYTES, .left = count - MAGIC_BYTES - 4};
    REQUIRE(get_u32(&r) == VERSION, "it is of another version");
    Reader tail = {.next = head + count - 4, .left = 4};
    REQUIRE(get_u32(&tail) == mem_crc32c(0, head, count - 4), "checksum does not match");
    REQUIRE(get_u32(&r) == (f->ftl ? (uint32_t)MEM_FTL_PAGE : (uint32_t)MEM_FTL_NONE),
            "it is of a device with another flash_ftl");
    if (f->ftl) {
        MemFtlMap *loaded = mem_ftl_renew(f->ftl);
        const char *fault = load_map(&r, loaded);
        if (fault) {
            mem_ftl_free(loaded);
            return fault;
        }
        mem_ftl_free(f->ftl);
        f->ftl = loaded;
    }
    REQUIRE(r.left == 0, "it goes on after its end");
    return NULL;
}
