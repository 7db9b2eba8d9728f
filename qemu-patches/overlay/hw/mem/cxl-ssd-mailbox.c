/*
 * CXL memory-semantic SSD: the mailbox commands of the Health Information and
 * Alerts set (42h), which upstream's type 3 device does not have.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "exec/timed-mem.h"
#include "cxl-ssd-internal.h"
#include "hw/cxl/cxl_mailbox.h"
#include "qapi/error.h"
#include "qapi/qapi-commands-cxl.h"

#define HEALTH_INFO_ALERTS 0x42

#define TEMPERATURE_C 25                /* nothing warms the device */
#define LIFE_USED_CRITICAL_PERCENT 90
#define OVER_TEMPERATURE_CRITICAL_C 85
#define UNDER_TEMPERATURE_CRITICAL_C 0

/* CXL r3.1 Table 8-133 */
typedef struct HealthInfo {
    uint8_t health_status;
    uint8_t media_status;
    uint8_t additional_status;
    uint8_t life_used;
    uint16_t temperature;
    uint32_t dirty_shutdowns;
    uint32_t corrected_volatile_errors;
    uint32_t corrected_persistent_errors;
} QEMU_PACKED HealthInfo;

/* CXL r3.1 Table 8-134 */
typedef struct AlertConfig {
    uint8_t valid;
    uint8_t programmable;
    uint8_t life_used_critical;
    uint8_t life_used;
    uint16_t over_temperature_critical;
    uint16_t under_temperature_critical;
    uint16_t over_temperature;
    uint16_t under_temperature;
    uint16_t volatile_errors;
    uint16_t persistent_errors;
} QEMU_PACKED AlertConfig;

/* CXL r3.1 Table 8-135 */
typedef struct AlertConfigSet {
    uint8_t valid;
    uint8_t enable;
    uint8_t life_used;
    uint8_t reserved;
    uint16_t over_temperature;
    uint16_t under_temperature;
    uint16_t volatile_errors;
    uint16_t persistent_errors;
} QEMU_PACKED AlertConfigSet;

QEMU_BUILD_BUG_ON(sizeof(HealthInfo) != 0x12);
QEMU_BUILD_BUG_ON(sizeof(AlertConfig) != 0x10);
QEMU_BUILD_BUG_ON(sizeof(AlertConfigSet) != 0xc);

enum {
    ALERT_LIFE_USED = BIT(0),
    ALERT_OVER_TEMPERATURE = BIT(1),
    ALERT_UNDER_TEMPERATURE = BIT(2),
    ALERT_VOLATILE_ERRORS = BIT(3),
    ALERT_PERSISTENT_ERRORS = BIT(4),
    ALERTS_ALL = 0x1f,
};

/* Additional Status, bits 1:0 */
enum {
    LIFE_USED_NORMAL,
    LIFE_USED_WARNING,
    LIFE_USED_CRITICAL,
};

/* Flash of unknown endurance does not wear out. */
static uint8_t life_used_percent(CXLSSDState *s)
{
    uint64_t percent = memsys_life_used_percent(timed_mem_memsys(), s->number);

    return percent == MEM_LIFE_UNKNOWN ? 0 : MIN(percent, 100);
}

static uint8_t life_used_status(CXLSSDState *s)
{
    uint8_t percent = life_used_percent(s);

    if (percent >= LIFE_USED_CRITICAL_PERCENT) {
        return LIFE_USED_CRITICAL;
    }
    return s->alerts.enabled & ALERT_LIFE_USED &&
           percent >= s->alerts.life_used ? LIFE_USED_WARNING
                                          : LIFE_USED_NORMAL;
}

static CXLRetCode get_health_info(const struct cxl_cmd *cmd, uint8_t *in,
                                  size_t len_in, uint8_t *out, size_t *len_out,
                                  CXLCCI *cci)
{
    CXLSSDState *s = CXL_SSD(cci->d);
    HealthInfo *info = (HealthInfo *)out;

    *info = (HealthInfo) {
        .additional_status = life_used_status(s),
        .life_used = life_used_percent(s),
        .temperature = cpu_to_le16(TEMPERATURE_C),
        .dirty_shutdowns = cpu_to_le32(s->shutdown.dirty_count),
    };
    *len_out = sizeof(*info);
    return CXL_MBOX_SUCCESS;
}

static CXLRetCode get_alert_config(const struct cxl_cmd *cmd, uint8_t *in,
                                   size_t len_in, uint8_t *out,
                                   size_t *len_out, CXLCCI *cci)
{
    CXLSSDState *s = CXL_SSD(cci->d);
    AlertConfig *config = (AlertConfig *)out;

    *config = (AlertConfig) {
        .valid = s->alerts.enabled,
        .programmable = ALERTS_ALL,
        .life_used_critical = LIFE_USED_CRITICAL_PERCENT,
        .life_used = s->alerts.life_used,
        .over_temperature_critical = cpu_to_le16(OVER_TEMPERATURE_CRITICAL_C),
        .under_temperature_critical =
            cpu_to_le16(UNDER_TEMPERATURE_CRITICAL_C),
        .over_temperature = cpu_to_le16(s->alerts.over_temperature),
        .under_temperature = cpu_to_le16(s->alerts.under_temperature),
        .volatile_errors = cpu_to_le16(s->alerts.volatile_errors),
        .persistent_errors = cpu_to_le16(s->alerts.persistent_errors),
    };
    *len_out = sizeof(*config);
    return CXL_MBOX_SUCCESS;
}

static CXLRetCode set_alert_config(const struct cxl_cmd *cmd, uint8_t *in,
                                   size_t len_in, uint8_t *out,
                                   size_t *len_out, CXLCCI *cci)
{
    CXLSSDState *s = CXL_SSD(cci->d);
    const AlertConfigSet *set = (const AlertConfigSet *)in;

    if (set->valid & ~ALERTS_ALL ||
        (set->valid & set->enable & ALERT_LIFE_USED &&
         set->life_used >= LIFE_USED_CRITICAL_PERCENT)) {
        return CXL_MBOX_INVALID_INPUT;
    }
    s->alerts.enabled = (s->alerts.enabled & ~set->valid) |
                        (set->enable & set->valid);
    if (set->valid & ALERT_LIFE_USED) {
        s->alerts.life_used = set->life_used;
    }
    if (set->valid & ALERT_OVER_TEMPERATURE) {
        s->alerts.over_temperature = le16_to_cpu(set->over_temperature);
    }
    if (set->valid & ALERT_UNDER_TEMPERATURE) {
        s->alerts.under_temperature = le16_to_cpu(set->under_temperature);
    }
    if (set->valid & ALERT_VOLATILE_ERRORS) {
        s->alerts.volatile_errors = le16_to_cpu(set->volatile_errors);
    }
    if (set->valid & ALERT_PERSISTENT_ERRORS) {
        s->alerts.persistent_errors = le16_to_cpu(set->persistent_errors);
    }
    return CXL_MBOX_SUCCESS;
}

static CXLRetCode get_shutdown_state(const struct cxl_cmd *cmd, uint8_t *in,
                                     size_t len_in, uint8_t *out,
                                     size_t *len_out, CXLCCI *cci)
{
    timed_mem_memsys(); /* settle accesses that may make it dirty */
    out[0] = CXL_SSD(cci->d)->shutdown.dirty;
    *len_out = 1;
    return CXL_MBOX_SUCCESS;
}

static CXLRetCode set_shutdown_state(const struct cxl_cmd *cmd, uint8_t *in,
                                     size_t len_in, uint8_t *out,
                                     size_t *len_out, CXLCCI *cci)
{
    CXLSSDState *s = CXL_SSD(cci->d);

    timed_mem_memsys(); /* as above */
    if (in[0] & 1) {
        mem_shutdown_written(&s->shutdown);
    } else {
        mem_shutdown_orderly(&s->shutdown);
    }
    cxl_ssd_metadata_store(s);
    return CXL_MBOX_SUCCESS;
}

static const struct cxl_cmd commands[256][256] = {
    [HEALTH_INFO_ALERTS] = {
        { "GET_HEALTH_INFO", get_health_info, 0, 0 },
        { "GET_ALERT_CONFIG", get_alert_config, 0, 0 },
        { "SET_ALERT_CONFIG", set_alert_config, sizeof(AlertConfigSet),
          CXL_MBOX_IMMEDIATE_POLICY_CHANGE },
        { "GET_SHUTDOWN_STATE", get_shutdown_state, 0, 0 },
        { "SET_SHUTDOWN_STATE", set_shutdown_state, 1,
          CXL_MBOX_IMMEDIATE_POLICY_CHANGE },
    },
};

/* The event log reports it once, as a change of the module's health. */
static void report_dirty_shutdown(CXLSSDState *s)
{
    g_autofree char *path = object_get_canonical_path(OBJECT(s));

    qmp_cxl_inject_memory_module_event(path, CXL_EVENT_LOG_WARNING, 0, 0, 0, 0,
                                       0, 0, TEMPERATURE_C,
                                       s->shutdown.dirty_count, 0, 0,
                                       &error_abort);
}

void cxl_ssd_mailbox_init(CXLSSDState *s)
{
    cxl_add_cci_commands(&CXL_TYPE3(s)->cci, commands, 0);
    if (s->to_report) {
        s->to_report = false;
        report_dirty_shutdown(s);
    }
}
