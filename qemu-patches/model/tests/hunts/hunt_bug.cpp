// SPDX-License-Identifier: GPL-2.0-or-later
#include "hunt.h"

int main() {
    return hunt([](Choices &choices) { return run_scenario(choices); }, 200, 400);
}
