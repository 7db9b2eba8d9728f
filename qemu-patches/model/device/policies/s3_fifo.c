/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * S3-FIFO: Yang et al., "FIFO Queues Are All You Need for Cache Eviction", SOSP
 * 2023. New pages enter a small FIFO of a tenth of the frames. From there, pages
 * hit more than once move on to the main FIFO. The others leave, and their numbers
 * enter a ghost FIFO as long as the main FIFO. A page missed while its number is
 * there enters the main FIFO at once. The main FIFO spares a page once for each
 * hit, up to three. The hits of a page that moves on are counted anew.
 */
#include <stdlib.h>

#include "../../base/mem_alloc.h"
#include "ghosts.h"
#include "policy.h"

#define MAX_HITS 3

typedef struct S3FifoSet {
    MemFrameList small;
    MemFrameList main;
} S3FifoSet;

typedef struct S3FifoFrame {
    uint8_t hits;
    bool in_main;
} S3FifoFrame;

typedef struct S3Fifo {
    uint32_t small_room;
    MemFrameLinks *links;
    S3FifoFrame *frames;
    MemGhosts ghosts;
    S3FifoSet sets[];
} S3Fifo;

static void *s3_fifo_create(const MemPolicyShape *shape) {
    size_t frames = (size_t)shape->sets * shape->ways;
    S3Fifo *s = mem_calloc(1, sizeof(*s) + shape->sets * sizeof(*s->sets));

    s->small_room = shape->ways >= 10 ? shape->ways / 10 : 1;
    s->links = mem_calloc(frames, sizeof(*s->links));
    s->frames = mem_calloc(frames, sizeof(*s->frames));
    mem_ghosts_init(&s->ghosts, shape->sets, shape->ways > s->small_room ? shape->ways - s->small_room : 1);
    return s;
}

static void s3_fifo_destroy(void *state) {
    S3Fifo *s = state;
    mem_ghosts_destroy(&s->ghosts);
    free(s->links);
    free(s->frames);
    free(s);
}

static void s3_fifo_hit(void *state, uint32_t set, uint32_t frame) {
    S3FifoFrame *f = &((S3Fifo *)state)->frames[frame];
    (void)set;
    f->hits = f->hits < MAX_HITS ? f->hits + 1 : MAX_HITS;
}

static void move_to_main(S3Fifo *s, S3FifoSet *q, uint32_t frame) {
    S3FifoFrame *f = &s->frames[frame];

    mem_list_remove(s->links, f->in_main ? &q->main : &q->small, frame);
    mem_list_push(s->links, &q->main, frame);
    f->hits = f->in_main ? f->hits - 1 : 0;
    f->in_main = true;
}

static uint32_t s3_fifo_victim(void *state, uint32_t set, uint64_t page) {
    S3Fifo *s = state;
    S3FifoSet *q = &s->sets[set];

    (void)page;
    for (;;) {
        bool from_small = q->small.count >= s->small_room;
        uint32_t frame = mem_list_oldest(from_small ? &q->small : &q->main);
        if (s->frames[frame].hits <= (from_small ? 1 : 0)) {
            return frame;
        }
        move_to_main(s, q, frame);
    }
}

static void s3_fifo_removed(void *state, uint32_t set, uint32_t frame, uint64_t page) {
    S3Fifo *s = state;

    if (s->frames[frame].in_main) {
        mem_list_remove(s->links, &s->sets[set].main, frame);
    } else {
        mem_list_remove(s->links, &s->sets[set].small, frame);
        mem_ghosts_add(&s->ghosts, set, page);
    }
}

static void s3_fifo_filled(void *state, uint32_t set, uint32_t frame, uint64_t page) {
    S3Fifo *s = state;
    S3FifoSet *q = &s->sets[set];
    bool returns = mem_ghosts_take(&s->ghosts, set, page);

    s->frames[frame] = (S3FifoFrame){.in_main = returns};
    mem_list_push(s->links, returns ? &q->main : &q->small, frame);
}

const MemCachePolicy mem_policy_s3_fifo = {
    .name = "s3-fifo",
    .create = s3_fifo_create,
    .destroy = s3_fifo_destroy,
    .hit = s3_fifo_hit,
    .victim = s3_fifo_victim,
    .removed = s3_fifo_removed,
    .filled = s3_fifo_filled,
};
