// SPDX-License-Identifier: BSD-3-Clause
#include "ycsb.hpp"

#include <cmath>
#include <cstdio>
#include <stdexcept>

namespace workloads {

static constexpr double Theta = 0.99;
static constexpr uint64_t ScrambledItems = 10'000'000'000;
static constexpr double ScrambledZeta = 26.46902820178302; // zeta(ScrambledItems), the constant in YCSB
static constexpr uint64_t ScanLengthMax = 100;

uint64_t fnv64(uint64_t value) {
    uint64_t hash = 0xcbf29ce484222325;
    for (int i = 0; i < 8; i++, value >>= 8)
        hash = (hash ^ (value & 0xff)) * 1099511628211u;
    return static_cast<int64_t>(hash) < 0 ? -hash : hash;
}

double Zipfian::zeta(uint64_t items) {
    double sum = 0;
    for (uint64_t i = 1; i <= items; i++)
        sum += 1 / std::pow(static_cast<double>(i), Theta);
    return sum;
}

Zipfian::Zipfian(uint64_t items) : Zipfian(items, zeta(items)) {}

Zipfian::Zipfian(uint64_t items, double zeta_items) : zeta_items(zeta_items) { setItems(items); }

void Zipfian::setItems(uint64_t new_items) {
    items = new_items;
    double zeta_two = 1 + std::pow(0.5, Theta);
    eta = (1 - std::pow(2.0 / static_cast<double>(items), 1 - Theta)) / (1 - zeta_two / zeta_items);
}

uint64_t Zipfian::next(Random &random) {
    double u = random.unit(), uz = u * zeta_items;
    if (uz < 1)
        return 0;
    if (uz < 1 + std::pow(0.5, Theta))
        return 1;
    return static_cast<uint64_t>(static_cast<double>(items) * std::pow(eta * u - eta + 1, 1 / (1 - Theta)));
}

uint64_t Zipfian::next(Random &random, uint64_t new_items) {
    if (new_items != items) {
        for (uint64_t i = items + 1; i <= new_items; i++)
            zeta_items += 1 / std::pow(static_cast<double>(i), Theta);
        setItems(new_items);
    }
    return next(random);
}

// YCSB includes both ends of its ranges, hence one more item here and in next().
ScrambledZipfian::ScrambledZipfian(uint64_t items) : items(items), ranks(ScrambledItems + 1, ScrambledZeta) {}

uint64_t ScrambledZipfian::next(Random &random) { return fnv64(ranks.next(random)) % (items + 1); }

Mix mixOf(const std::string &workload) {
    static constexpr Mix mixes[] = {
        {0.50, 0.50, 0.00, 0.00, 0.00, false}, // A: update heavy
        {0.95, 0.05, 0.00, 0.00, 0.00, false}, // B: read mostly
        {1.00, 0.00, 0.00, 0.00, 0.00, false}, // C: read only
        {0.95, 0.00, 0.05, 0.00, 0.00, true},  // D: read latest
        {0.00, 0.00, 0.05, 0.95, 0.00, false}, // E: short ranges
        {0.50, 0.00, 0.00, 0.00, 0.50, false}, // F: read-modify-write
        {0.00, 1.00, 0.00, 0.00, 0.00, false}, // G: update only
    };
    if (workload.size() != 1 || workload[0] < 'A' || workload[0] > 'G')
        throw std::invalid_argument("unknown workload '" + workload + "': choose a letter from A to G");
    return mixes[workload[0] - 'A'];
}

// YCSB sizes the key space for the loaded records and, to be safe, twice the expected number of inserted records.
static uint64_t keySpace(const Mix &mix, uint64_t records, uint64_t operations) {
    return records + static_cast<uint64_t>(2 * static_cast<double>(operations) * mix.insert);
}

RequestStream::RequestStream(const Mix &mix, uint64_t records, uint64_t operations, uint64_t seed)
    : mix(mix), records(records), random(seed), zipfian(keySpace(mix, records, operations)),
      latest(mix.latest && records > 1 ? records - 1 : 2) {}

uint64_t RequestStream::chooseKey() {
    uint64_t last = records - 1;
    if (mix.latest)
        return last ? last - latest.next(random, last) : 0;
    uint64_t key_number;
    do
        key_number = zipfian.next(random);
    while (key_number > last);
    return key_number;
}

Op RequestStream::chooseOp() {
    double u = random.unit();
    if ((u -= mix.read) < 0)
        return Op::Read;
    if ((u -= mix.update) < 0)
        return Op::Update;
    if ((u -= mix.scan) < 0)
        return Op::Scan;
    if ((u -= mix.read_modify_write) < 0)
        return Op::ReadModifyWrite;
    return mix.insert > 0 ? Op::Insert : Op::Read; // Read: the remainder from rounding
}

Request RequestStream::next() {
    Request request{};
    request.op = chooseOp();
    request.key_number = request.op == Op::Insert ? records++ : chooseKey();
    if (request.op == Op::Scan)
        request.scan_length = static_cast<uint8_t>(1 + random.below(ScanLengthMax));
    else if (request.op != Op::Read)
        request.value = static_cast<uint32_t>(random.next());
    return request;
}

Key keyOf(uint64_t key_number) {
    char text[32];
    int length = snprintf(text, sizeof(text), "user%llu", static_cast<unsigned long long>(fnv64(key_number)));
    Key key{};
    memcpy(key.bytes, text, static_cast<size_t>(length));
    return key;
}

uint32_t loadedValue(uint64_t key_number, uint64_t seed) {
    return static_cast<uint32_t>(splitmix64(seed ^ splitmix64(key_number)));
}

} // namespace workloads
