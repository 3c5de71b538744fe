package wallclock

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	_ "github.com/tollgate-dp/tollgate/internal/testing/runseed"
)

// Zones whose clocks are set in every way there is: at night and at midnight, by half an hour, by a
// whole day that never was, by seconds; never; and those that stopped doing so.
var zones = []string{
	"Europe/Zurich", "America/New_York", "America/Havana", "America/Sao_Paulo", "Asia/Beirut", "Australia/Lord_Howe",
	"Pacific/Apia",
	"Pacific/Kwajalein", "America/Juneau", "Asia/Manila", "Africa/Casablanca", "Antarctica/Troll", "Asia/Kolkata",
	"Africa/Monrovia", "Atlantic/Azores", "Asia/Gaza", "Europe/Dublin",
}

const firstYear, lastYear = -62135596800000, 253402300799999 // 0001 to 9999

// aTime draws times, preferring those at which clocks are set.
func aTime(t *rapid.T, zone *time.Location) int64 {
	instant := rapid.OneOf(rapid.Int64Range(0, 2_000_000_000_000), rapid.Int64Range(firstYear, lastYear)).
		Draw(t, "time")
	begin, end := time.UnixMilli(instant).In(zone).ZoneBounds()
	near := rapid.Int64Range(-90_000_000, 90_000_000)
	switch rapid.IntRange(0, 3).Draw(t, "near") {
	case 0:
		if !begin.IsZero() {
			return max(firstYear, begin.UnixMilli()+near.Draw(t, "from begin"))
		}
	case 1:
		if !end.IsZero() {
			return min(lastYear, end.UnixMilli()+near.Draw(t, "from end"))
		}
	case 2:
		if !begin.IsZero() {
			return begin.UnixMilli() + rapid.Int64Range(-2, 2).Draw(t, "at begin")
		}
	}
	return instant
}

// The clock is never set back: its readings do not decrease, it is ahead of the zone's clock only
// after that was set back, and the time of a reading is the first one that shows it.
func TestRuleTheClockOfAZoneIsNeverSetBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Of(rapid.SampledFrom(zones).Draw(t, "zone"))
		instant := aTime(t, c.zone)
		later := instant + rapid.OneOf(rapid.Int64Range(1, 3), rapid.Int64Range(1, 100_000_000),
			rapid.Int64Range(1, 1<<40)).Draw(t, "later")
		reading := c.Reading(instant)
		if next := c.Reading(later); next < reading {
			t.Fatalf("at %d it shows %d, and at %d %d", instant, reading, later, next)
		}
		shown := wall(instant, c.zone)
		if reading < shown || reading > shown && !wasSetBack(instant, c.zone) {
			t.Fatalf("at %d it shows %d, and the zone's clock %d", instant, reading, shown)
		}
		first := c.Time(reading)
		if first > instant || c.Reading(first) != reading || c.Reading(first-1) >= reading {
			t.Fatalf("%d is said to be shown from %d on, where it shows %d, and %d before", reading, first,
				c.Reading(first), c.Reading(first-1))
		}
		// A reading that is never shown begins where the clock jumps over it.
		any := reading + rapid.Int64Range(-100_000_000, 100_000_000).Draw(t, "reading")
		if first := c.Time(any); c.Reading(first) < any || c.Reading(first-1) >= any {
			t.Fatalf("%d is said to begin at %d, where it shows %d, and %d before", any, first, c.Reading(first),
				c.Reading(first-1))
		}
		if begins := c.Begins(first); begins > reading || begins < reading && c.Reading(first-1)+1 != begins {
			t.Fatalf("%d is first shown at %d, where %d is said to begin", reading, first, begins)
		}
	})
}

func wall(millis int64, zone *time.Location) int64 {
	_, seconds := time.UnixMilli(millis).In(zone).Zone()
	return millis + int64(seconds)*1000
}

// wasSetBack reports whether the zone's clock was set back in the two days before a time.
func wasSetBack(millis int64, zone *time.Location) bool {
	for instant := millis; instant > millis-2*86_400_000; {
		begin, _ := time.UnixMilli(instant).In(zone).ZoneBounds()
		if begin.IsZero() {
			return false
		}
		instant = begin.UnixMilli()
		if wall(instant, zone) <= wall(instant-1, zone) {
			return true
		}
		instant--
	}
	return false
}

// Days on the clock are the days of the zone's calendar unless clocks are set across midnight.
func TestDaysAreThoseOfTheCalendar(t *testing.T) {
	for _, c := range []struct {
		zone, day string
		begins    string // in UTC
		hours     int64
	}{
		{"Europe/Zurich", "2025-03-30", "2025-03-29T23:00:00Z", 23},
		{"Europe/Zurich", "2025-10-26", "2025-10-25T22:00:00Z", 25},
		{"Europe/Zurich", "2025-10-27", "2025-10-26T23:00:00Z", 24},
		{"America/New_York", "2024-11-03", "2024-11-03T04:00:00Z", 25},
		{"America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00:00Z", 23}, // begins at 01:00
		{"Asia/Kolkata", "2025-06-01", "2025-05-31T18:30:00Z", 24},
		{"Pacific/Apia", "2011-12-31", "2011-12-30T10:00:00Z", 24},
		{"Pacific/Apia", "2011-12-30", "2011-12-30T10:00:00Z", 0}, // never was
		{"Europe/Zurich", "2040-12-31", "2040-12-30T23:00:00Z", 24},
		{"", "2025-03-30", "2025-03-30T00:00:00Z", 24},
	} {
		clock := Of(c.zone)
		date, err := time.Parse(time.DateOnly, c.day)
		if err != nil {
			t.Fatal(err)
		}
		from, to := clock.Time(date.UnixMilli()), clock.Time(date.UnixMilli()+day)
		if got := time.UnixMilli(from).UTC().Format(time.RFC3339); got != c.begins || to-from != c.hours*3_600_000 {
			t.Errorf("%s in %q begins at %s and has %v hours, not %s and %d", c.day, c.zone, got,
				float64(to-from)/3_600_000, c.begins, c.hours)
		}
	}
}

func TestNoZoneIsUTC(t *testing.T) {
	for _, name := range []string{"", "UTC", "Etc/UTC"} {
		if zone, err := Load(name); zone != nil || err != nil || Of(name) != nil {
			t.Errorf("%q: %v, %v", name, zone, err)
		}
	}
	var c *Clock
	if c.Reading(5) != 5 || c.Time(-5) != -5 || c.Begins(7) != 7 {
		t.Error("without a zone, readings are not the times")
	}
	for _, name := range []string{"Local", "Mars/Olympus", "../etc/passwd"} {
		if _, err := Load(name); err == nil {
			t.Errorf("%q is taken for a zone", name)
		}
	}
}
