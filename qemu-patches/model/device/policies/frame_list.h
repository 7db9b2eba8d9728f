/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Doubly linked lists of numbers, such as the frames of a set, newest to oldest.
 * Numbers are stored plus one, so that zeroed memory represents empty lists.
 */
#ifndef MODEL_FRAME_LIST_H
#define MODEL_FRAME_LIST_H

#include <assert.h>
#include <stdint.h>

typedef struct MemFrameLinks {
    uint32_t newer;
    uint32_t older;
} MemFrameLinks;

typedef struct MemFrameList {
    uint32_t newest;
    uint32_t oldest;
    uint32_t count;
} MemFrameList;

static inline uint32_t mem_list_oldest(const MemFrameList *list) {
    assert(list->count);
    return list->oldest - 1;
}

static inline void mem_list_push(MemFrameLinks *links, MemFrameList *list, uint32_t item) {
    links[item] = (MemFrameLinks){.older = list->newest};
    if (list->newest) {
        links[list->newest - 1].newer = item + 1;
    } else {
        list->oldest = item + 1;
    }
    list->newest = item + 1;
    list->count++;
}

static inline void mem_list_remove(MemFrameLinks *links, MemFrameList *list, uint32_t item) {
    MemFrameLinks gone = links[item];

    if (gone.newer) {
        links[gone.newer - 1].older = gone.older;
    } else {
        assert(list->newest == item + 1);
        list->newest = gone.older;
    }
    if (gone.older) {
        links[gone.older - 1].newer = gone.newer;
    } else {
        assert(list->oldest == item + 1);
        list->oldest = gone.newer;
    }
    list->count--;
}

/* Make an item of the list its newest. */
static inline void mem_list_renew(MemFrameLinks *links, MemFrameList *list, uint32_t item) {
    if (list->newest != item + 1) {
        mem_list_remove(links, list, item);
        mem_list_push(links, list, item);
    }
}

#endif
