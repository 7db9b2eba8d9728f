// SPDX-License-Identifier: BSD-3-Clause
#include "choices.hpp"

#include <algorithm>

static void forEachCombination(const std::vector<size_t> &changes, size_t total,
                               const std::function<void(const Choice &)> &visit) {
    Choice choice(changes.size());
    for (size_t ordinal = 0; ordinal < total; ordinal++) {
        size_t rest = ordinal;
        for (size_t i = 0; i < changes.size(); i++) {
            choice[i] = rest % (changes[i] + 1);
            rest /= changes[i] + 1;
        }
        visit(choice);
    }
}

// A thing has all its changes with this probability, and otherwise any smaller number of them: samples differ in it, so
// that some miss almost nothing and some have almost nothing.
static constexpr unsigned CompleteOf64[] = {32, 4, 60, 63};

static Choice anyChoice(const std::vector<size_t> &changes, unsigned complete_of_64, std::mt19937_64 &random) {
    Choice choice;
    for (size_t count : changes)
        choice.push_back(random() % 64 < complete_of_64 ? count : random() % std::max<size_t>(count, 1));
    return choice;
}

void forEachChoice(const std::vector<size_t> &changes, const Sampling &sampling, std::mt19937_64 &random,
                   const std::function<void(const Choice &)> &visit) {
    size_t total = 1;
    for (size_t count : changes)
        total = std::min(total * (count + 1), sampling.exhaustive + 1);
    if (total <= sampling.exhaustive || changes.empty())
        return forEachCombination(changes, total, visit);
    const Choice none(changes.size(), 0), &all = changes;
    visit(none);
    visit(all);
    size_t step = sampling.alone ? (changes.size() + sampling.alone - 1) / sampling.alone : changes.size();
    for (size_t i = 0; sampling.alone && i < changes.size(); i += step) {
        Choice alone = none, missing = all;
        alone[i] = changes[i];
        missing[i] = random() % std::max<size_t>(changes[i], 1);
        visit(alone);
        visit(missing);
    }
    for (size_t i = 0; i < sampling.random; i++)
        visit(anyChoice(changes, CompleteOf64[i % std::size(CompleteOf64)], random));
}
