// SPDX-License-Identifier: BSD-3-Clause
//
// The program of one engine: kv-snapshot, kv-pmdk, ... KV_ENGINE_HEADER and KV_ENGINE say which.
#include KV_ENGINE_HEADER

#include <cstdio>
#include <stdexcept>

#include "kv_run.hpp"
#include "kv_verify.hpp"

using Engine = engines::KV_ENGINE;

int main(int argc, char **argv) {
    try {
        workloads::Options options = workloads::parseOptions(argc, argv);
        if (!options.engine.empty() && options.engine != Engine::Name)
            throw std::invalid_argument("this is the program of the engine " + std::string(Engine::Name));
        return options.verify ? workloads::verifyWorkload<Engine>(options) : workloads::runWorkload<Engine>(options);
    } catch (const std::invalid_argument &error) {
        fprintf(stderr, "kv: %s\n%s", error.what(), workloads::Usage);
        return 2;
    } catch (const std::exception &error) {
        fprintf(stderr, "kv: %s\n", error.what());
        return 2;
    }
}
