// SPDX-License-Identifier: GPL-2.0-or-later
#include "../reference/system_scenario.h"
#include "hunt.h"

int main() {
    return hunt([](Choices &choices) { return run_system_scenario(choices, 3); }, 400, 600);
}
