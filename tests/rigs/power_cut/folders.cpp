// SPDX-License-Identifier: BSD-3-Clause
#include "folders.hpp"

#include <algorithm>
#include <set>

static void setName(Folder &folder, const std::string &name, unsigned file) {
    if (file == 0)
        folder.names.erase(name);
    else
        folder.names[name] = file;
}

static void apply(Folder &folder, const FolderEvent &event) {
    if (event.kind == FolderEvent::Name)
        setName(folder, event.name, event.file);
    if (event.kind == FolderEvent::Move) {
        setName(folder, event.name, 0);
        setName(folder, event.to, event.file);
    }
    std::string &bytes = folder.files[event.file];
    if (event.kind == FolderEvent::Size)
        bytes.resize(event.at);
    if (event.isContent() && event.at < bytes.size()) {
        size_t count = std::min<size_t>(event.content.size(), bytes.size() - event.at);
        bytes.replace(event.at, count, event.content, 0, count);
    }
}

static Folder folderOf(const Folder &base, const FolderEvents &events, const std::vector<bool> &is_there) {
    Folder folder = base;
    for (size_t i = 0; i < is_there.size(); i++)
        if (is_there[i])
            apply(folder, events[i]);
    std::set<unsigned> named;
    for (const auto &[name, file] : folder.names)
        named.insert(file);
    std::erase_if(folder.files, [&](auto &file) { return !named.contains(file.first); });
    return folder;
}

Folder folderAfter(const Folder &base, const FolderEvents &events, size_t count) {
    return folderOf(base, events, std::vector<bool>(count, true));
}

// The synchronisations behind a place in the events.
struct Synchronised {
    bool fence = false, folder = false;
    std::set<unsigned> files, contents;

    void add(const FolderEvent &event) {
        fence |= event.kind == FolderEvent::Fence;
        folder |= event.kind == FolderEvent::SyncFolder;
        if (event.kind == FolderEvent::SyncFile)
            files.insert(event.file);
        if (event.kind == FolderEvent::SyncContent)
            contents.insert(event.file);
    }

    bool covers(const FolderEvent &change, NameRule rule) const {
        const bool has_file = files.contains(change.file);
        if (rule == NameRule::Journal && change.isStep() && (folder || !files.empty()))
            return true;
        if (change.isContent())
            return has_file || contents.contains(change.file) || (change.kind == FolderEvent::Stored && fence);
        if (change.kind == FolderEvent::Size)
            return has_file;
        return folder || (rule == NameRule::WithFile && change.file != 0 && has_file);
    }
};

static std::vector<bool> durableOf(const FolderEvents &events, size_t count, NameRule rule) {
    std::vector<bool> durable(count);
    Synchronised behind;
    for (size_t i = count; i-- > 0;) {
        durable[i] = behind.covers(events[i], rule);
        behind.add(events[i]);
    }
    return durable;
}

// The events of one thing that a power cut decides about, in order.
using Thing = std::vector<size_t>;

static void keep(std::vector<bool> &is_there, const std::vector<Thing> &things, const Choice &choice) {
    for (size_t i = 0; i < things.size(); i++)
        for (size_t n = 0; n < things[i].size(); n++)
            is_there[things[i][n]] = n < choice[i];
}

static std::vector<size_t> sizesOf(const std::vector<Thing> &things) {
    std::vector<size_t> sizes;
    for (const Thing &thing : things)
        sizes.push_back(thing.size());
    return sizes;
}

void forEachCut(const Folder &base, const FolderEvents &events, size_t count, NameRule rule,
                const FolderSampling &sampling, const std::function<void(const Folder &)> &visit) {
    std::mt19937_64 random(count);
    const std::vector<bool> durable = durableOf(events, count, rule);
    std::vector<Thing> steps, contents;
    std::map<std::pair<unsigned, uint64_t>, Thing> places;
    for (size_t i = 0; i < count; i++) {
        if (durable[i])
            continue;
        if (events[i].isContent())
            places[{events[i].file, events[i].at}].push_back(i);
        else if (events[i].isStep() && rule == NameRule::Journal && !steps.empty())
            steps[0].push_back(i);
        else if (events[i].isStep())
            steps.push_back({i});
    }
    for (auto &[place, thing] : places)
        contents.push_back(std::move(thing));
    std::vector<bool> is_there = durable;
    forEachChoice(sizesOf(steps), sampling.steps, random, [&](const Choice &of_steps) {
        keep(is_there, steps, of_steps);
        forEachChoice(sizesOf(contents), sampling.content, random, [&](const Choice &of_contents) {
            keep(is_there, contents, of_contents);
            visit(folderOf(base, events, is_there));
        });
    });
}
