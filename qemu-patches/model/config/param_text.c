/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "param_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NAME_BYTES 64

typedef struct Unit {
    const char *name;
    uint64_t factor;
} Unit;

static const Unit size_units[] = {
    {"", 1},
    {"B", 1},
    {"K", UINT64_C(1) << 10},
    {"KiB", UINT64_C(1) << 10},
    {"M", UINT64_C(1) << 20},
    {"MiB", UINT64_C(1) << 20},
    {"G", UINT64_C(1) << 30},
    {"GiB", UINT64_C(1) << 30},
    {"T", UINT64_C(1) << 40},
    {"TiB", UINT64_C(1) << 40},
    {NULL, 0},
};

static const Unit time_units[] = {
    {"", 1},
    {"ps", 1},
    {"ns", UINT64_C(1000)},
    {"us", UINT64_C(1000000)},
    {"ms", UINT64_C(1000000000)},
    {"s", UINT64_C(1000000000000)},
    {NULL, 0},
};

static const Unit bandwidth_units[] = {
    {"", 1},
    {"B/s", 1},
    {"K", UINT64_C(1000)},
    {"M", UINT64_C(1000000)},
    {"MB/s", UINT64_C(1000000)},
    {"G", UINT64_C(1000000000)},
    {"GB/s", UINT64_C(1000000000)},
    {NULL, 0},
};

static const Unit no_units[] = {{"", 1}, {NULL, 0}};

void mem_param_format(const MemParam *param, const void *config, char text[MEM_PARAM_TEXT_BYTES]) {
    uint64_t value = mem_param_get(param, config);

    switch (param->type) {
    case MEM_PARAM_BOOL:
        snprintf(text, MEM_PARAM_TEXT_BYTES, "%s", value ? "on" : "off");
        break;
    case MEM_PARAM_CHOICE:
        snprintf(text, MEM_PARAM_TEXT_BYTES, "%s", param->choices[value]);
        break;
    default:
        snprintf(text, MEM_PARAM_TEXT_BYTES, "%" PRIu64, value);
    }
}

static const Unit *units_of(MemParamType type) {
    switch (type) {
    case MEM_PARAM_SIZE:
        return size_units;
    case MEM_PARAM_TIME:
        return time_units;
    case MEM_PARAM_BANDWIDTH:
        return bandwidth_units;
    default:
        return no_units;
    }
}

static const char *what_number(MemParamType type) {
    switch (type) {
    case MEM_PARAM_SIZE:
        return "must be a whole number of bytes below 2^64, as 4096, 64K, 128M or 2GiB";
    case MEM_PARAM_TIME:
        return "must be a whole number of ps below 2^64, as 250, 800ns, 14us or 1.5ms";
    case MEM_PARAM_BANDWIDTH:
        return "must be a whole number of bytes per second below 2^64, as 27G or 800MB/s";
    default:
        return "must be a whole number below 2^64";
    }
}

static uint64_t unit_factor(const Unit *units, const char *name) {
    for (; units->name; units++) {
        if (strcmp(units->name, name) == 0) {
            return units->factor;
        }
    }
    return 0;
}

/* value = value * factor + more; false if it overflows. */
static bool accumulate(uint64_t *value, uint64_t factor, uint64_t more) {
    if (factor && *value > (UINT64_MAX - more) / factor) {
        return false;
    }
    *value = *value * factor + more;
    return true;
}

/* Parse a decimal number `*digits` / `*scale`; false if it overflows, or lacks digits before or after the point. */
static bool parse_decimal(const char **text, uint64_t *digits, uint64_t *scale) {
    bool point = false;
    const char *at = *text;

    *digits = 0;
    *scale = 1;
    for (; (*at >= '0' && *at <= '9') || (*at == '.' && !point); at++) {
        if (*at == '.') {
            point = true;
        } else if (!accumulate(digits, 10, (uint64_t)(*at - '0')) || (point && !accumulate(scale, 10, 0))) {
            return false;
        }
    }
    bool number = at > *text && at[-1] != '.' && **text != '.';
    *text = at;
    return number;
}

static uint64_t greatest_divisor(uint64_t a, uint64_t b) {
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static const char *parse_number(const MemParam *param, const char *text, uint64_t *value) {
    uint64_t scale;

    if (!parse_decimal(&text, value, &scale)) {
        return what_number(param->type);
    }
    uint64_t factor = unit_factor(units_of(param->type), text);
    uint64_t common = greatest_divisor(scale, factor);
    scale /= common;
    if (!factor || *value % scale != 0) {
        return what_number(param->type);
    }
    *value /= scale;
    return accumulate(value, factor / common, 0) ? NULL : what_number(param->type);
}

const char *mem_param_parse(const MemParam *param, const char *text, uint64_t *value) {
    switch (param->type) {
    case MEM_PARAM_BOOL:
        *value = strcmp(text, "on") == 0 || strcmp(text, "true") == 0;
        return *value || strcmp(text, "off") == 0 || strcmp(text, "false") == 0 ? NULL : "must be on or off";
    case MEM_PARAM_CHOICE:
        *value = mem_param_choice(param, text);
        return *value != UINT64_MAX ? NULL : "must be one of its choices";
    default:
        return parse_number(param, text, value);
    }
}

/* Copy `name` with '-' for '_', cut at the size of `to`. */
static void normalise(char to[NAME_BYTES], const char *name) {
    size_t i;
    for (i = 0; name[i] && i + 1 < NAME_BYTES; i++) {
        to[i] = name[i];
        if (to[i] == '_') {
            to[i] = '-';
        }
    }
    to[i] = '\0';
}

const MemParam *mem_param_named(const MemParamTable *table, const char *name) {
    char wanted[NAME_BYTES];

    normalise(wanted, name);
    const MemParam *found = mem_param_find(table, wanted);
    if (!found && strlen(wanted) + sizeof("-ps") <= NAME_BYTES) {
        found = mem_param_find(table, strcat(wanted, "-ps"));
    }
    return found;
}

/* How many letters must be inserted, removed or changed to turn `b` into `a`. */
static unsigned edit_distance(const char *a, const char *b) {
    unsigned row[NAME_BYTES];
    size_t length = strlen(b);

    for (size_t j = 0; j <= length; j++) {
        row[j] = (unsigned)j;
    }
    for (size_t i = 0; a[i]; i++) {
        unsigned diagonal = row[0];
        row[0]++;
        for (size_t j = 0; j < length; j++) {
            unsigned change = diagonal + (a[i] != b[j]);
            unsigned shorter = row[j] < row[j + 1] ? row[j] : row[j + 1];
            diagonal = row[j + 1];
            row[j + 1] = change < shorter + 1 ? change : shorter + 1;
        }
    }
    return row[length];
}

const MemParam *mem_param_nearest(const MemParamTable *table, const char *name) {
    const MemParam *best = NULL;
    unsigned best_distance = 0;
    char wanted[NAME_BYTES];

    normalise(wanted, name);
    for (size_t i = 0; i < table->count; i++) {
        unsigned distance = edit_distance(table->params[i].name, wanted);
        if (!best || distance < best_distance) {
            best = &table->params[i];
            best_distance = distance;
        }
    }
    return best;
}
