/*
 * CXL memory-semantic SSD: declarations shared by its source files.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_MEM_CXL_SSD_INTERNAL_H
#define HW_MEM_CXL_SSD_INTERNAL_H

#include "hw/cxl/cxl.h"
#include "hw/mem/memsys/memsys.h"
#include "hw/mem/memsys/persist/power.h"
#include "qapi/qapi-types-cxl-ssd.h"

#define TYPE_CXL_SSD "cxl-ssd"
OBJECT_DECLARE_TYPE(CXLSSDState, CXLSSDClass, CXL_SSD)

struct CXLSSDClass {
    CXLType3Class parent_class;
    void (*parent_realize)(PCIDevice *dev, Error **errp);
    DeviceReset parent_reset;
    bool (*parent_set_cacheline)(CXLType3Dev *ct3d, uint64_t dpa,
                                 uint8_t *data);
};

struct CXLSSDState {
    CXLType3Dev parent_obj;

    MemDeviceConfig config;
    uint64_t power_cut_at_ps;       /* 0: never */
    uint64_t power_cut_at_event;    /* 0: never */

    uint32_t number;                /* the device's number in the model */
    MemMedia media;                 /* present place of its persistent part */

    MemShutdown shutdown;           /* stored with the media */
    bool to_report;                 /* log that a shutdown was dirty */
    GByteArray *kept;               /* stored with the media: flash, poison */
    uint32_t kept_poison;           /* number of poison records in it */
    GHashTable *poisoned;           /* poisoned lines: see cxl-ssd-poison.c */
    GArray *healed;                 /* healed lines that are not durable yet */
    uint64_t lines_lost;            /* by the flash, since the start */

    /* Alert settings of the host: see cxl-ssd-mailbox.c. */
    struct {
        uint8_t enabled;
        uint8_t life_used;
        uint16_t over_temperature;
        uint16_t under_temperature;
        uint16_t volatile_errors;
        uint16_t persistent_errors;
    } alerts;
};

/* The devices by their number in the model. */
extern CXLSSDState *cxl_ssds[MEMSYS_MAX_DEVICES];
extern unsigned cxl_ssd_count;

/*
 * Windows
 */

/* HDM decoder @which of @s was committed or uncommitted. */
void cxl_ssd_decoder_changed(CXLSSDState *s, int which, bool committed);
/* Unmap all windows that reach @s. */
void cxl_ssd_windows_unmap(CXLSSDState *s);
/* The byte of @s at @dpa in the RAM of an interleaved window, or NULL. */
uint8_t *cxl_ssd_interleaved(CXLSSDState *s, uint64_t dpa);
/* Copy the content of interleaved windows into the devices' own memory. */
void cxl_ssd_windows_gather(void);
CxlSsdWindowList *cxl_ssd_windows_to_qapi(const CXLSSDState *s);

/* The bytes of @s from @dpa on, in its own memory. */
uint8_t *cxl_ssd_backing(CXLSSDState *s, uint64_t dpa);

/*
 * Doorbell, and its records: in the vCPU thread, except for the last mark
 */

/* Register the doorbell's handler. */
void cxl_ssd_doorbell_init(void);

/* Not while @cpu runs guest code. A begin ends an open region first. */
void cxl_ssd_roi_begin(CPUState *cpu, uint32_t id);
void cxl_ssd_roi_end(CPUState *cpu);
/* Count from zero. The totals keep the counts so far. */
void cxl_ssd_reset_counters(void);
/* Record a progress mark of the guest. */
void cxl_ssd_mark(uint32_t number);
/*
 * The page of @rank, from 0 on, among the pages of @device that the host
 * accessed most: its number, lines read, lines written; zeros past the last
 * page. Each rank is as of the moment when rank 0 was requested.
 */
void cxl_ssd_hot_page(uint32_t device, uint32_t rank, uint32_t reply[3]);
/* Fill in times, marks, totals and regions. */
void cxl_ssd_roi_info(CxlSsdInfo *info);
/* Counters of @s since the start. */
CxlSsdDeviceCounters *cxl_ssd_device_counters(const CXLSSDState *s);
/* The last progress mark of the guest. */
uint32_t cxl_ssd_last_mark(void);

/*
 * The guest's job
 */

/* The guest asks for its job. In the vCPU thread. */
void cxl_ssd_job_ask(CPUState *cpu);

/*
 * Power
 */

/* The power supply that all devices and the guest share. */
void cxl_ssd_power_init(void);
/* Schedule the power cuts that the properties of @s request. */
void cxl_ssd_power_schedule(CXLSSDState *s);
/* The power fails now; the VM stops for good. In the vCPU thread. */
void cxl_ssd_power_cut(void);
/* MemCallbacks: the state of a device line changed. */
void cxl_ssd_line_state(void *opaque, uint32_t device, uint64_t dpa,
                        MemLineState from, MemLineState to, mem_ps at_ps);
/* MemCallbacks: the event of memsys_cut_after() has happened. */
void cxl_ssd_power_gone(void *opaque, mem_ps at_ps);
uint64_t cxl_ssd_persistence_events(void);

/*
 * Poison
 */

/* A range of poison as stored with the media, little-endian. */
typedef struct CXLSSDPoisonRecord {
    uint64_t start;             /* DPA, with the type in the low bits */
    uint64_t length;            /* bytes */
} CXLSSDPoisonRecord;

void cxl_ssd_poison_init(CXLSSDState *s);
/* The device's list of poison has changed. */
void cxl_ssd_poison_changed(CXLSSDState *s);
/* For MemCallbacks: the state of a line changed. */
void cxl_ssd_poison_line_state(CXLSSDState *s, uint64_t dpa, MemLineState to);
/* MemCallbacks: flash could not be read. */
void cxl_ssd_lines_lost(void *opaque, uint32_t device, uint64_t dpa,
                        uint64_t size_bytes);
static inline bool cxl_ssd_loses_lines(const CXLSSDState *s)
{
    return s->config.flash_channels && s->config.flash_read_errors;
}
/* Poison a line again if a power cut loses the write that healed it. */
void cxl_ssd_poison_before_cut(CXLSSDState *s);
void cxl_ssd_poison_after_cut(CXLSSDState *s);
/* Append the list of poison to @kept; returns the number of records. */
uint32_t cxl_ssd_poison_save(CXLSSDState *s, GByteArray *kept);
void cxl_ssd_poison_load(CXLSSDState *s, const CXLSSDPoisonRecord *records,
                         uint32_t count);

/*
 * Metadata and mailbox
 */

/* Read the metadata that is stored behind the capacity of the backing file. */
bool cxl_ssd_metadata_load(CXLSSDState *s, Error **errp);
/* Apply flash state and poison from it, once the model knows the device. */
void cxl_ssd_metadata_apply(CXLSSDState *s);
/* Store the header; flash state and poison stay as stored last. */
void cxl_ssd_metadata_store(CXLSSDState *s);
/* Store everything: power goes off. */
void cxl_ssd_metadata_store_all(CXLSSDState *s);

/* Add the commands that upstream's device lacks; after each reset. */
void cxl_ssd_mailbox_init(CXLSSDState *s);

#endif
