// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>
#include <memory>
#include <random>
#include <vector>

extern "C" {
#include "base/calendar.h"
}

namespace {

// A flag for every picosecond: busy or free.
class RefCalendar {
  public:
    mem_ps reserve(mem_ps at, mem_ps span) {
        if (span == 0) {
            return at;
        }
        while (!is_free(at, span)) {
            at++;
        }
        busy_.resize(std::max(busy_.size(), size_t(at + span)));
        std::fill_n(busy_.begin() + ptrdiff_t(at), span, true);
        return at;
    }
    size_t spans() const {
        size_t starts = 0;
        for (size_t i = 0; i < busy_.size(); i++) {
            starts += busy_[i] && (i == 0 || !busy_[i - 1]);
        }
        return starts;
    }

  private:
    bool is_free(mem_ps at, mem_ps span) const {
        for (mem_ps t = at; t < at + span && t < busy_.size(); t++) {
            if (busy_[t]) {
                return false;
            }
        }
        return true;
    }
    std::vector<bool> busy_;
};

struct Calendar : MemCalendar {
    Calendar() { mem_calendar_clear(this); }
    mem_ps reserve(mem_ps at, mem_ps span) { return mem_calendar_reserve(this, at, span); }
};

} // namespace

TEST(Calendar, FirstGapThatIsLongEnough) {
    Calendar c;
    EXPECT_EQ(c.reserve(100, 10), 100u);
    EXPECT_EQ(c.reserve(90, 10), 90u) << "just fits";
    EXPECT_EQ(c.reserve(120, 10), 120u);
    EXPECT_EQ(c.reserve(95, 11), 130u) << "1 ps too long for the gap at 110";
    EXPECT_EQ(c.reserve(95, 10), 110u);
    EXPECT_EQ(c.reserve(95, 0), 95u) << "nothing takes no time";
    EXPECT_EQ(c.reserve(0, 90), 0u);
    EXPECT_EQ(c.reserve(0, 1), 141u);
}

TEST(Calendar, ProbeTakesNothing) {
    Calendar c;
    c.reserve(100, 10);
    EXPECT_EQ(mem_calendar_probe(&c, 105, 10), 110u);
    EXPECT_EQ(mem_calendar_probe(&c, 105, 0), 105u);
    EXPECT_EQ(c.reserve(105, 10), 110u);
}

TEST(Calendar, AgreesWithAListOfBusyPicoseconds) {
    for (uint32_t seed = 1; seed <= 200; seed++) {
        std::mt19937 random(seed);
        Calendar c;
        RefCalendar reference;
        for (int i = 0; i < 400 && reference.spans() < MEM_CALENDAR_SPANS - 1; i++) {
            mem_ps at = random() % 3000, span = random() % 12;
            ASSERT_EQ(c.reserve(at, span), reference.reserve(at, span)) << "seed " << seed << ", step " << i;
        }
    }
}

TEST(Calendar, GapsBeforeTheLastSpansAreLost) {
    Calendar c;
    for (mem_ps i = 1; i < MEM_CALENDAR_SPANS; i++) {
        c.reserve(100 * i, 10);
    }
    EXPECT_EQ(c.reserve(20, 10), 20u) << "as many as are remembered";
    EXPECT_EQ(c.reserve(20, 10), 30u);
    c.reserve(100 * 1000, 10);
    EXPECT_EQ(c.reserve(20, 10), 40u) << "one too many: the earliest is the floor";
    c.reserve(100 * 1001, 10);
    c.reserve(100 * 1002, 10);
    EXPECT_EQ(c.reserve(20, 10), 210u);
}

TEST(Calendar, AFullCalendarTakesAnEarlierSpanAsItsFloor) {
    Calendar c;
    for (mem_ps i = 1; i <= MEM_CALENDAR_SPANS; i++) {
        c.reserve(100 * i, 10);
    }
    EXPECT_EQ(c.reserve(10, 10), 10u);
    EXPECT_EQ(c.reserve(0, 10), 20u);
}

TEST(Calendar, NothingOverlapsHoweverLongItRuns) {
    std::mt19937 random(7);
    Calendar c;
    mem_ps now = 0;
    std::vector<std::pair<mem_ps, mem_ps>> taken;
    for (int i = 0; i < 20000; i++) {
        now += random() % 30;
        mem_ps at = now + (random() % 8 ? 0 : random() % 2000), span = 1 + random() % 20;
        mem_ps start = c.reserve(at, span);
        ASSERT_GE(start, at);
        taken.emplace_back(start, start + span);
    }
    std::sort(taken.begin(), taken.end());
    for (size_t i = 1; i < taken.size(); i++) {
        ASSERT_LE(taken[i - 1].second, taken[i].first);
    }
}
