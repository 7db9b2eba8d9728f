// SPDX-License-Identifier: GPL-2.0-or-later
#include "hunt.h"
#include "persist_scenario.h"

int main() { return hunt(run_persist_scenario, 400, 400); }
