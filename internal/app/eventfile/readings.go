package eventfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/formats/spelling"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// mostTried is how many records are tried with every other way to read them. Those that follow are
// tried with the ways that have read one.
const mostTried = 1000

// Events usually lie in the years from usualFrom on; dates may lie further back. No time in
// seconds with nine digits or more is before secondsFrom.
var (
	usualFrom   = time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	datesFrom   = time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	secondsFrom = int64(1e11)
)

// Reading is a way to read times.
type Reading struct {
	unit, layout, zone string

	from        int64 // times before it show that the way is wrong
	decoder     *event.Decoder
	reads       uint64 // unusual or unreadable times that become usual ones
	first, last int64  // of these
}

// dateLayouts and clockLayouts are what people and programs write beside the usual layouts.
var (
	dateLayouts  = []string{"%m/%d/%Y", "%d/%m/%Y", "%m-%d-%Y", "%d-%m-%Y", "%m.%d.%Y", "%m/%d/%y", "%d/%m/%y", "%d.%m.%y", "%Y-%m-%d", "%Y/%m/%d", "%b %d, %Y", "%d %b %Y", "%d-%b-%y", "%Y-%j"}
	clockLayouts = []string{"", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p", " %H:%M:%S.%f", ", %H:%M:%S", ", %I:%M %p", ", %I:%M:%S %p", " %I:%M%p", " %H.%M.%S", " %T %z", "T%T", "T%T%z"}
	// wholeLayouts are not made of these.
	wholeLayouts = []string{"%Y%m%d%H%M", "%Y%m%dT%H%M", "%Y-%m-%d-%H.%M.%S.%f", "%d%b%Y:%T", "%d-%b-%y %I.%M.%S.%f %p", "%d. %B %Y %H:%M", "%B %d, %Y at %I:%M %p"}
	// zones are those whose times have the best-known short names.
	zones = []string{"Europe/Berlin", "Europe/London", "Europe/Helsinki", "America/New_York", "America/Chicago", "America/Denver", "America/Los_Angeles", "Asia/Kolkata", "Asia/Shanghai", "Asia/Tokyo"}
)

// readings returns other ways to read the times of a format, the more telling ones first: of two
// that read as many times, the first is right.
func readings(format event.Format) (all []*Reading) {
	add := func(r Reading) {
		f := format
		f.TimeUnit, f.TimeLayout, f.TimeZone = r.unit, r.layout, r.zone
		if f.TimeUnit == event.TimeText && f.TimeZone == "" {
			f.TimeZone = format.TimeZone
		}
		if f.TimeUnit == format.TimeUnit && f.TimeLayout == format.TimeLayout && f.TimeZone == format.TimeZone {
			return
		}
		var err error
		if r.decoder, err = event.NewDecoder(f); err == nil {
			all = append(all, &r)
		}
	}
	dates := func(layout, zone string) {
		add(Reading{unit: event.TimeText, layout: layout, zone: zone, from: datesFrom})
	}
	dates("", "")
	for _, unit := range event.TimeUnits() {
		switch unit {
		case "s":
			add(Reading{unit: unit, from: secondsFrom})
		case event.TimeText, "rfc3339":
		default:
			add(Reading{unit: unit, from: usualFrom})
		}
	}
	dates("%Y", "")
	for _, date := range dateLayouts {
		for _, clock := range clockLayouts {
			dates(date+clock, "")
		}
	}
	for _, layout := range wholeLayouts {
		dates(layout, "")
	}
	swapped := strings.NewReplacer("%%", "%%", "%d", "%m", "%m", "%d").Replace(format.TimeLayout)
	if !slices.ContainsFunc(all, func(r *Reading) bool { return r.layout == swapped }) {
		dates(swapped, "")
	}
	for _, year := range []int{time.Now().Year(), time.Now().Year() - 1} {
		dates(fmt.Sprintf("%%{%d}%%b %%d %%T", year), "")
	}
	for _, zone := range zones {
		dates(format.TimeLayout, zone)
	}
	return all
}

// Flags returns the flags of the way, with their values: "" leaves a flag out.
func (r *Reading) Flags() map[string]string {
	set := map[string]string{"time-unit": r.unit, "time-layout": r.layout}
	if !r.Unit() {
		set["time-unit"] = ""
	}
	if r.zone != "" {
		set["time-zone"] = r.zone
	}
	return set
}

// Unit reports whether the way is a unit, so that nothing that another unit reads can be read so.
func (r *Reading) Unit() bool { return r.layout == "" && r.zone == "" }

// String names the flags, and the dates that they give.
func (r *Reading) String() string {
	var flags []string
	if r.layout != "" {
		flags = append(flags, "--time-layout '"+r.layout+"'")
	}
	if r.zone != "" {
		flags = append(flags, "--time-zone "+r.zone)
	}
	return fmt.Sprintf("%s (%s to %s)", cmp.Or(strings.Join(flags, " "), "--time-unit "+r.unit), Date(r.first), Date(r.last))
}

// Listed names ways to read times.
func Listed(ways []*Reading) string {
	texts := make([]string, len(ways))
	for i, r := range ways {
		texts[i] = r.String()
	}
	return spelling.List(texts, " or ")
}

// Date writes the day of a time.
func Date(millis int64) string { return time.UnixMilli(millis).UTC().Format(time.DateOnly) }

// Times counts the times of a file that are not what events usually have, and how else they could
// be read.
type Times struct {
	Events      uint64 // records that have a time
	First, Last int64  // of these
	Early       uint64 // of these, before 1990
	Ahead       uint64 // ahead of now
	// UsualFirst and UsualLast are the first and the last time of the others.
	UsualFirst, UsualLast int64

	format event.Format
	now    int64
	odd    fault // the early ones and those ahead
	others []*Reading
	tried  uint64
}

// add notes the time of an event.
func (t *Times) add(millis int64, r Record) {
	within(t.Events, &t.First, &t.Last, millis)
	t.Events++
	switch {
	case millis < usualFrom:
		t.Early++
	case millis > t.now:
		t.Ahead++
	default:
		within(t.Usual()-1, &t.UsualFirst, &t.UsualLast, millis)
		return
	}
	t.odd.add(r, t.format)
	t.try(r.Value, usualFrom)
}

// within widens a range of n times by one more.
func within(n uint64, first, last *int64, millis int64) {
	if n == 0 {
		*first, *last = millis, millis
	}
	*first, *last = min(*first, millis), max(*last, millis)
}

// Usual returns how many events are neither early nor ahead of now.
func (t *Times) Usual() uint64 { return t.Events - t.Early - t.Ahead }

// try reads a record in other ways. A date that could not be read may be before 1990.
func (t *Times) try(record []byte, dates int64) {
	if t.tried == 0 {
		t.others = readings(t.format)
	}
	t.tried++
	var e event.Event
	for _, r := range t.others {
		if r.decoder.Decode(record, &e) == nil && e.Millis >= max(r.from, dates) && e.Millis <= t.now {
			within(r.reads, &r.first, &r.last, e.Millis)
			r.reads++
		}
	}
	if t.tried == mostTried {
		t.others = slices.DeleteFunc(t.others, func(r *Reading) bool { return r.reads == 0 })
	}
}

// Readings returns the ways that read the most of the records whose times are odd or cannot be
// read, if they read at least half of these. Only layouts and zones may be several: days and
// months look alike.
func (t *Times) Readings() (best []*Reading) {
	for _, r := range t.others {
		switch {
		case 2*r.reads < t.tried || len(best) > 0 && r.reads < best[0].reads:
		case len(best) == 0 || r.reads > best[0].reads:
			best = []*Reading{r}
		case !best[0].Unit() && (best[0].zone == "") == (r.zone == "") && (best[0].layout == "") == (r.layout == ""):
			best = append(best, r)
		}
	}
	return best
}
