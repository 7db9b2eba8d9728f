/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the checks of several fields: one rule per line, each with the message for its breach. */
#ifndef MODEL_CONFIG_RULES_H
#define MODEL_CONFIG_RULES_H

/* Return the message unless the rule holds. */
#define REQUIRE(rule, sentence)                                                                                        \
    do {                                                                                                               \
        if (!(rule)) {                                                                                                 \
            return sentence;                                                                                           \
        }                                                                                                              \
    } while (0)

#endif
