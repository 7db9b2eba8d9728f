/*
 * CXL memory-semantic SSD: committed HDM decoders as windows of RAM.
 *
 * The window of a decoder that reaches one device is an alias of the device's
 * own memory. Interleaved devices share RAM that belongs to the window. The RAM
 * is filled from the devices' memory when the last device is committed, and
 * copied back when the first one is uncommitted or the power goes off.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "qemu/timer.h"
#include "exec/address-spaces.h"
#include "exec/timed-mem.h"
#include "cxl-ssd-internal.h"
#include "hw/cxl/cxl_host.h"
#include "hw/mem/memsys/base/interleave.h"
#include "qapi/error.h"
#include "system/hostmem.h"
#include "trace.h"

#define DECODERS 4
#define DECODER_REGS (R_CXL_HDM_DECODER1_BASE_LO - R_CXL_HDM_DECODER0_BASE_LO)

/* The RAM of a window. The model stores its address and its devices. */
typedef struct Window {
    MemoryRegion region;        /* with one device: contains the parts */
    MemoryRegion parts[2];      /* volatile and persistent */
} Window;

static Window windows[MEMSYS_MAX_WINDOWS];

/* A window of size 0 is free. */
static const MemWindow *map_of(const Window *w)
{
    return memsys_window(timed_mem_memsys(), w - windows);
}

/*
 * Decoders
 */

static uint64_t register_pair(const uint32_t *low)
{
    /* The next register is the high half; all are multiples of 256 MiB. */
    return (uint64_t)ldl_le_p(low + 1) << 32 | (ldl_le_p(low) & 0xf0000000);
}

static const uint32_t *decoder_regs(CXLSSDState *s, int which)
{
    return CXL_TYPE3(s)->cxl_cstate.crb.cache_mem_registers +
           which * DECODER_REGS;
}

/*
 * The DPA range of each decoder follows the range of the one before it, after a
 * gap. False if a decoder up to @which is not committed, or if its values are
 * not sane.
 */
static bool decoder_read(CXLSSDState *s, int which, MemWindow *map)
{
    const uint64_t capacity = s->config.capacity_bytes;
    uint64_t dpa = 0;

    for (int i = 0; i <= which; i++) {
        const uint32_t *regs = decoder_regs(s, i);
        uint32_t ctrl = ldl_le_p(regs + R_CXL_HDM_DECODER0_CTRL);
        uint8_t piece = FIELD_EX32(ctrl, CXL_HDM_DECODER0_CTRL, IG);
        int ways = cxl_interleave_ways_dec(
            FIELD_EX32(ctrl, CXL_HDM_DECODER0_CTRL, IW), NULL);

        if (!FIELD_EX32(ctrl, CXL_HDM_DECODER0_CTRL, COMMITTED) ||
            ways < 1 || ways > MEMSYS_MAX_WAYS) {
            return false;
        }
        *map = (MemWindow) {
            .hpa = register_pair(regs + R_CXL_HDM_DECODER0_BASE_LO),
            .size_bytes = register_pair(regs + R_CXL_HDM_DECODER0_SIZE_LO),
            .dpa = dpa + register_pair(regs + R_CXL_HDM_DECODER0_DPA_SKIP_LO),
            .ways = ways,
            .granularity_bytes = cxl_decode_ig(piece),
            .devices[0] = s->number,
        };
        if (!map->size_bytes || map->hpa + map->size_bytes < map->hpa ||
            map->dpa < dpa || map->dpa > capacity ||
            map->size_bytes / map->ways > capacity - map->dpa) {
            return false;
        }
        dpa = map->dpa + map->size_bytes / map->ways;
    }
    return true;
}

static bool same_interleaving(const MemWindow *a, const MemWindow *b)
{
    return a->hpa == b->hpa && a->size_bytes == b->size_bytes &&
           a->ways == b->ways &&
           a->granularity_bytes == b->granularity_bytes;
}

/* The decoder of @s for the region of @map, possibly at another DPA. */
static bool decoder_of_region(CXLSSDState *s, const MemWindow *map,
                              MemWindow *own)
{
    for (int i = 0; i < DECODERS && decoder_read(s, i, own); i++) {
        if (same_interleaving(own, map)) {
            return true;
        }
    }
    return false;
}

static bool has_decoder_for(CXLSSDState *s, const MemWindow *map)
{
    MemWindow own;

    return decoder_of_region(s, map, &own) && own.dpa == map->dpa;
}

/* The device to which the host sends an address, or NULL if not a cxl-ssd. */
static CXLSSDState *device_at(hwaddr hpa)
{
    MemoryRegionSection section =
        memory_region_find(get_system_memory(), hpa, 1);
    CXLSSDState *s = NULL;

    if (section.mr && section.mr->ops == &cfmws_ops) {
        PCIDevice *d = cxl_cfmws_find_device(section.mr->opaque,
                                             section.offset_within_region);

        s = (CXLSSDState *)object_dynamic_cast((Object *)d, TYPE_CXL_SSD);
    }
    if (section.mr) {
        memory_region_unref(section.mr);
    }
    return s;
}

/* Fill in the device of each way; false until all are committed. */
static bool interleaving_complete(MemWindow *map)
{
    for (uint32_t way = 0; way < map->ways; way++) {
        CXLSSDState *s = device_at(map->hpa + way * map->granularity_bytes);
        MemWindow own;

        if (!s || !decoder_of_region(s, map, &own)) {
            return false;
        }
        map->devices[way] = s->number;
    }
    return true;
}

/*
 * Memory
 */

static MemoryRegion *backend_memory(HostMemoryBackend *backend)
{
    return backend ? host_memory_backend_get_memory(backend) : NULL;
}

uint8_t *cxl_ssd_backing(CXLSSDState *s, uint64_t dpa)
{
    uint64_t boundary = s->config.volatile_bytes;

    if (dpa < boundary) {
        MemoryRegion *mr = backend_memory(CXL_TYPE3(s)->hostvmem);

        return memory_region_get_ram_ptr(mr) + dpa;
    } else {
        MemoryRegion *mr = backend_memory(CXL_TYPE3(s)->hostpmem);

        return memory_region_get_ram_ptr(mr) + (dpa - boundary);
    }
}

static void part_add(Window *w, const MemWindow *map, int part,
                     MemoryRegion *memory, uint64_t first, uint64_t last)
{
    uint64_t begin = MAX(first, map->dpa);
    uint64_t end = MIN(last, map->dpa + map->size_bytes);

    if (begin < end) {
        memory_region_init_alias(&w->parts[part], w->region.owner,
                                 "cxl-ssd-part", memory, begin - first,
                                 end - begin);
        memory_region_add_subregion(&w->region, begin - map->dpa,
                                    &w->parts[part]);
    }
}

static void region_init_single(Window *w, const MemWindow *map)
{
    CXLSSDState *s = cxl_ssds[map->devices[0]];
    CXLType3Dev *ct3d = CXL_TYPE3(s);
    uint64_t boundary = s->config.volatile_bytes;

    memory_region_init(&w->region, OBJECT(s), "cxl-ssd-window",
                       map->size_bytes);
    part_add(w, map, 0, backend_memory(ct3d->hostvmem), 0, boundary);
    part_add(w, map, 1, backend_memory(ct3d->hostpmem), boundary,
             s->config.capacity_bytes);
}

static void copy_if_different(uint8_t *to, const uint8_t *from, size_t bytes)
{
    /* A page that nobody wrote stays unallocated on either side. */
    if (memcmp(to, from, bytes)) {
        memcpy(to, from, bytes);
    }
}

static void interleaved_copy(Window *w, const MemWindow *map, bool to_window)
{
    uint8_t *window = memory_region_get_ram_ptr(&w->region);
    uint32_t piece_bytes = map->granularity_bytes;

    for (uint64_t at = 0; at < map->size_bytes; at += piece_bytes) {
        MemInterleaved place = mem_interleave(at, map->ways, piece_bytes);
        CXLSSDState *s = cxl_ssds[map->devices[place.way]];
        uint8_t *there = window + at;
        uint8_t *here = cxl_ssd_backing(s, map->dpa + place.offset_bytes);

        copy_if_different(to_window ? there : here, to_window ? here : there,
                          piece_bytes);
    }
}

static bool is_persistent(const MemWindow *map)
{
    return map->dpa >= cxl_ssds[map->devices[0]]->config.volatile_bytes;
}

static void media_move_to_window(Window *w, const MemWindow *map)
{
    uint8_t *base = memory_region_get_ram_ptr(&w->region);

    for (uint32_t way = 0; is_persistent(map) && way < map->ways; way++) {
        CXLSSDState *s = cxl_ssds[map->devices[way]];

        s->media = (MemMedia) {
            .base = cxl_ssd_backing(s, s->config.volatile_bytes),
            .interleaved_first = map->dpa - s->config.volatile_bytes,
            .interleaved_bytes = map->size_bytes / map->ways,
            .interleaved_base = base,
            .ways = map->ways,
            .position = way,
            .granularity_bytes = map->granularity_bytes,
        };
        memsys_set_media(timed_mem_memsys(), s->number, &s->media);
    }
}

static void media_move_back(const MemWindow *map)
{
    for (uint32_t way = 0; is_persistent(map) && way < map->ways; way++) {
        CXLSSDState *s = cxl_ssds[map->devices[way]];

        s->media = (MemMedia) {
            .base = cxl_ssd_backing(s, s->config.volatile_bytes),
        };
        memsys_set_media(timed_mem_memsys(), s->number, &s->media);
    }
}

static bool region_init_interleaved(Window *w, const MemWindow *map)
{
    CXLSSDState *s = cxl_ssds[map->devices[0]];
    Error *error = NULL;

    if (!memory_region_init_ram_nomigrate(&w->region, OBJECT(s),
                                          "cxl-ssd-interleaved",
                                          map->size_bytes, &error)) {
        warn_report_err(error);
        return false;
    }
    interleaved_copy(w, map, true);
    media_move_to_window(w, map);
    return true;
}

/*
 * Windows
 */

static void model_map(const Window *w, const MemWindow *map)
{
    memsys_map_window(timed_mem_memsys(), w - windows, map,
                      timed_mem_now_ps());
}

/* The way of @s in a window; the number of ways if @s is not in it. */
static uint32_t way_of(const MemWindow *map, const CXLSSDState *s)
{
    uint32_t way = 0;

    while (way < map->ways && map->devices[way] != s->number) {
        way++;
    }
    return way;
}

static bool uses(const MemWindow *map, const CXLSSDState *s)
{
    return map->size_bytes && way_of(map, s) < map->ways;
}

static void window_unmap(Window *w)
{
    const MemWindow map = *map_of(w);

    model_map(w, &(MemWindow) { .ways = 1 });
    memory_region_del_subregion(get_system_memory(), &w->region);
    if (map.ways > 1) {
        interleaved_copy(w, &map, false);
        media_move_back(&map);
    }
    for (int i = 0; i < ARRAY_SIZE(w->parts); i++) {
        if (memory_region_is_mapped(&w->parts[i])) {
            memory_region_del_subregion(&w->region, &w->parts[i]);
            object_unparent(OBJECT(&w->parts[i]));
        }
    }
    object_unparent(OBJECT(&w->region));
    trace_cxl_ssd_window(map.hpa, 0);
}

/* The reason why an interleaved window cannot be mapped, or NULL. */
static const char *interleaving_fault(const MemWindow *map)
{
    CXLSSDState *first = cxl_ssds[map->devices[0]];

    for (uint32_t way = 0; way < map->ways; way++) {
        CXLSSDState *s = cxl_ssds[map->devices[way]];

        if (!has_decoder_for(s, map)) {
            return "its devices have it at different DPAs";
        }
        if (s->config.volatile_bytes != first->config.volatile_bytes) {
            return "it interleaves devices of different volatile sizes";
        }
        if (map->dpa < s->config.volatile_bytes) {
            if (map->dpa + map->size_bytes / map->ways >
                s->config.volatile_bytes) {
                return "it interleaves volatile and persistent memory";
            }
        } else if (s->media.ways > 1) {
            return "a device interleaves other persistent memory already";
        }
    }
    return NULL;
}

static Window *window_free(void)
{
    for (int i = 0; i < ARRAY_SIZE(windows); i++) {
        if (!map_of(&windows[i])->size_bytes) {
            return &windows[i];
        }
    }
    return NULL;
}

static void window_map(const MemWindow *map)
{
    const char *fault = map->ways > 1 ? interleaving_fault(map) : NULL;
    Window *w = window_free();

    if (!w || fault) {
        warn_report("cxl-ssd: the region at 0x%" PRIx64 " is not timed: %s",
                    map->hpa, fault ? fault : "there are too many");
        return;
    }
    if (map->ways == 1) {
        region_init_single(w, map);
    } else if (!region_init_interleaved(w, map)) {
        return;
    }
    memory_region_add_subregion_overlap(get_system_memory(), map->hpa,
                                        &w->region, 1);
    model_map(w, map);
    trace_cxl_ssd_window(map->hpa, map->size_bytes);
}

static bool is_mapped(const MemWindow *map)
{
    for (int i = 0; i < ARRAY_SIZE(windows); i++) {
        const MemWindow *other = map_of(&windows[i]);

        if (other->size_bytes && other->hpa == map->hpa) {
            return true;
        }
    }
    return false;
}

/*
 * Map the window of decoder @which of @s. False if the host does not reach all
 * its devices yet.
 */
static bool decoder_map(CXLSSDState *s, int which)
{
    MemWindow map;

    if (!decoder_read(s, which, &map)) {
        warn_report("cxl-ssd: HDM decoder %d is not one that can be timed",
                    which);
        return true;
    }
    if (is_mapped(&map)) {
        return true;
    }
    if (map.ways > 1 && !interleaving_complete(&map)) {
        return false;
    }
    window_map(&map);
    return true;
}

/*
 * A host commits the decoders of its bridges after the decoders of the devices
 * behind them, and no callback reports it. So decoder_map() is called again for
 * the device that was committed last, at virtual times, for as long as a host
 * may need.
 */
#define LOOK_INTERVAL_NS 100000
#define LOOKS 1000

static struct {
    QEMUTimer *timer;
    CXLSSDState *device;
    int decoder;
    int looks_left;
} awaited;

static void look_again(void *opaque)
{
    if (decoder_map(awaited.device, awaited.decoder)) {
        return;
    }
    if (awaited.looks_left-- > 0) {
        timer_mod(awaited.timer, qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) +
                  LOOK_INTERVAL_NS);
    } else {
        warn_report("cxl-ssd: HDM decoder %d is not timed: the host does not "
                    "reach all devices of its region", awaited.decoder);
    }
}

static void await_others(CXLSSDState *s, int which)
{
    if (!awaited.timer) {
        awaited.timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, look_again, NULL);
    }
    awaited.device = s;
    awaited.decoder = which;
    awaited.looks_left = LOOKS;
    timer_mod(awaited.timer, qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) +
              LOOK_INTERVAL_NS);
}

void cxl_ssd_decoder_changed(CXLSSDState *s, int which, bool committed)
{
    if (awaited.timer) {
        timer_del(awaited.timer);
    }
    for (int i = 0; i < ARRAY_SIZE(windows); i++) {
        const MemWindow *map = map_of(&windows[i]);

        if (uses(map, s) && !has_decoder_for(s, map)) {
            window_unmap(&windows[i]);
        }
    }
    if (committed && !decoder_map(s, which)) {
        await_others(s, which);
    }
}

void cxl_ssd_windows_unmap(CXLSSDState *s)
{
    if (awaited.device == s) {
        timer_del(awaited.timer);
    }
    for (int i = 0; i < ARRAY_SIZE(windows); i++) {
        if (uses(map_of(&windows[i]), s)) {
            window_unmap(&windows[i]);
        }
    }
}

uint8_t *cxl_ssd_interleaved(CXLSSDState *s, uint64_t dpa)
{
    for (int i = 0; i < ARRAY_SIZE(windows); i++) {
        const MemWindow *map = map_of(&windows[i]);
        MemInterleaved place = { way_of(map, s), dpa - map->dpa };

        if (uses(map, s) && map->ways > 1 &&
            place.offset_bytes < map->size_bytes / map->ways) {
            return (uint8_t *)memory_region_get_ram_ptr(&windows[i].region) +
                   mem_deinterleave(place, map->ways, map->granularity_bytes);
        }
    }
    return NULL;
}

void cxl_ssd_windows_gather(void)
{
    for (int i = 0; i < ARRAY_SIZE(windows); i++) {
        const MemWindow *map = map_of(&windows[i]);

        if (map->size_bytes && map->ways > 1) {
            interleaved_copy(&windows[i], map, false);
        }
    }
}

CxlSsdWindowList *cxl_ssd_windows_to_qapi(const CXLSSDState *s)
{
    CxlSsdWindowList *list = NULL, **tail = &list;

    for (int i = 0; i < ARRAY_SIZE(windows); i++) {
        const MemWindow *map = map_of(&windows[i]);
        CxlSsdWindow *q;

        if (!uses(map, s)) {
            continue;
        }
        q = g_new0(CxlSsdWindow, 1);
        q->address = map->hpa;
        q->size = map->size_bytes;
        q->dpa = map->dpa;
        q->ways = map->ways;
        q->granularity = map->ways > 1 ? map->granularity_bytes : 0;
        QAPI_LIST_APPEND(tail, q);
    }
    return list;
}
