// SPDX-License-Identifier: BSD-3-Clause
#include "disk_model.hpp"

#include <algorithm>
#include <random>

static constexpr size_t ExhaustiveSteps = 6, Samples = 24;

static void setName(Disk &disk, const std::string &name, unsigned file) {
    if (file == 0)
        disk.names.erase(name);
    else
        disk.names[name] = file;
}

static void apply(Disk &disk, const DiskEvent &event) {
    std::string &file = disk.files[event.file];
    if (event.kind == DiskEvent::Name)
        setName(disk, event.name, event.file);
    if (event.kind == DiskEvent::Move) {
        setName(disk, event.name, 0);
        setName(disk, event.to, event.file);
    }
    if (event.kind == DiskEvent::Size)
        file.resize(event.at);
    if (event.isContent() && event.at < file.size())
        file.replace(event.at, std::min<size_t>(64, file.size() - event.at), event.content.data(),
                     std::min<size_t>(64, file.size() - event.at));
}

static bool settles(const DiskEvent &sync, const DiskEvent &event, bool is_ordered) {
    bool is_sync = sync.kind == DiskEvent::SyncFile || sync.kind == DiskEvent::SyncFolder;
    if (is_ordered && is_sync && event.isStep())
        return true;
    if (event.kind == DiskEvent::Line && sync.kind == DiskEvent::Fence)
        return true;
    if (event.kind == DiskEvent::Size || event.isContent())
        return sync.kind == DiskEvent::SyncFile && sync.file == event.file;
    return sync.kind == DiskEvent::SyncFolder;
}

static std::vector<bool> durableOf(const DiskEvents &events, size_t count, bool is_ordered) {
    std::vector<bool> durable(count);
    for (size_t i = 0; i < count; i++) {
        auto from = events.begin() + static_cast<long>(i), to = events.begin() + static_cast<long>(count);
        durable[i] = std::any_of(from, to, [&](auto &later) { return settles(later, events[i], is_ordered); });
    }
    return durable;
}

static Disk diskOf(const Disk &base, const DiskEvents &events, const std::vector<bool> &kept) {
    Disk disk = base;
    for (size_t i = 0; i < kept.size(); i++)
        if (kept[i])
            apply(disk, events[i]);
    std::erase_if(disk.files, [&](auto &file) {
        return std::none_of(disk.names.begin(), disk.names.end(),
                            [&](auto &name) { return name.second == file.first; });
    });
    return disk;
}

Disk diskAfter(const Disk &base, const DiskEvents &events, size_t count) {
    return diskOf(base, events, std::vector<bool>(count, true));
}

Promise promiseAt(const DiskEvents &events, size_t count) {
    while (count > 0 && events[count - 1].kind != DiskEvent::Say)
        count--;
    return count > 0 ? events[count - 1].promise : Promise{};
}

using Subset = std::vector<bool>; // of the steps that are not durable

static std::vector<Subset> subsetsOf(size_t steps, bool is_ordered, std::mt19937_64 &random) {
    std::vector<Subset> subsets;
    if (is_ordered) {
        for (size_t count = 0; count <= steps; count++) {
            subsets.emplace_back(steps, false);
            std::fill_n(subsets.back().begin(), count, true);
        }
    } else if (steps <= ExhaustiveSteps) {
        for (size_t bits = 0; bits < size_t{1} << steps; bits++) {
            subsets.emplace_back(steps);
            for (size_t i = 0; i < steps; i++)
                subsets.back()[i] = bits >> i & 1;
        }
    } else {
        for (bool most : {false, true})
            for (size_t other = 0; other <= steps; other++) {
                subsets.emplace_back(steps, most);
                if (other < steps)
                    subsets.back()[other] = !most;
            }
        for (size_t i = 0; i < Samples; i++) {
            subsets.emplace_back(steps);
            std::generate(subsets.back().begin(), subsets.back().end(), [&] { return random() % 2; });
        }
    }
    return subsets;
}

void forEachCut(const Disk &base, const DiskEvents &events, size_t count, bool is_ordered,
                const std::function<void(const Disk &)> &visit) {
    std::mt19937_64 random(count);
    std::vector<bool> durable = durableOf(events, count, is_ordered);
    std::vector<size_t> steps, content;
    for (size_t i = 0; i < count; i++)
        if (!durable[i] && events[i].isStep())
            steps.push_back(i);
        else if (!durable[i] && events[i].isContent())
            content.push_back(i);
    for (const Subset &subset : subsetsOf(steps.size(), is_ordered, random))
        for (unsigned part = 0; part < (content.empty() ? 1 : 4); part++) {
            std::vector<bool> kept = durable;
            for (size_t i = 0; i < steps.size(); i++)
                kept[steps[i]] = subset[i];
            for (size_t i : content)
                kept[i] = part == 1 || (part > 1 && random() % 2);
            visit(diskOf(base, events, kept));
        }
}
