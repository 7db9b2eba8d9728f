// SPDX-License-Identifier: GPL-2.0-or-later
#include "hunt.h"
#include "system_scenario.h"

int main() {
    return hunt([](Choices &choices) { return run_system_scenario(choices); }, 400, 600);
}
