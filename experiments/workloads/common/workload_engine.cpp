// SPDX-License-Identifier: BSD-3-Clause
//
// The program of one workload on one engine: kv-snapshot, list-pmdk, ... The definitions of the build select both.
#include ENGINE_HEADER
#include WORKLOAD_HEADER

#include "driver.hpp"

using Engine = workloads::Timed<engines::ENGINE>;

int main(int argc, char **argv) { return workloads::workloadMain<Engine, workloads::WORKLOAD>(argc, argv); }
