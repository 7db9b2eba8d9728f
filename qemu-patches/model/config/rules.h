/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the checks of several fields share: one rule per line, each with the sentence that answers its breach. */
#ifndef MODEL_CONFIG_RULES_H
#define MODEL_CONFIG_RULES_H

/* Leave with the sentence unless the rule holds. */
#define REQUIRE(rule, sentence)                                                                                        \
    do {                                                                                                               \
        if (!(rule)) {                                                                                                 \
            return sentence;                                                                                           \
        }                                                                                                              \
    } while (0)

#endif
