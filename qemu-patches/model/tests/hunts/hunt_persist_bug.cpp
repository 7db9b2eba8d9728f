// SPDX-License-Identifier: GPL-2.0-or-later
#include "../reference/persist_scenario.h"
#include "hunt.h"

int main() { return hunt(run_persist_scenario, 400, 400); }
