package event

import (
	"fmt"
	"testing"
	"time"
)

// Whatever the unit, times are given as the zone's clock shows them; and the zone is part of a
// decoder's identity.
func TestTimesByTheClockOfAZone(t *testing.T) {
	second := time.Date(2025, 10, 26, 1, 30, 0, 0, time.UTC) // 02:30 for the second time in Zurich
	stopped := time.Date(2025, 10, 26, 2, 59, 59, 999e6, time.UTC).UnixMilli()
	for unit, text := range map[string]string{
		"s": fmt.Sprint(second.Unix()), "ms": fmt.Sprint(second.UnixMilli()), "us": fmt.Sprint(second.UnixMicro()),
		"rfc3339": `"` + second.Format(time.RFC3339) + `"`, TimeText: `"2025-10-26 03:30:00+0200"`,
	} {
		format := Format{Format: "jsonl", User: "u", Time: "t", TimeUnit: unit, WallZone: "Europe/Zurich"}
		d, err := NewDecoder(format)
		if err != nil {
			t.Fatal(err)
		}
		var e Event
		if err := d.Decode([]byte(`{"u":"a","t":`+text+`}`), &e); err != nil || e.Millis != stopped {
			t.Errorf("%s: %v, %v", unit, time.UnixMilli(e.Millis).UTC(), err)
		}
		id, err := format.Identity("")
		if err != nil {
			t.Fatal(err)
		}
		format.WallZone = ""
		if other, err := format.Identity(""); err != nil || other.Time == id.Time {
			t.Errorf("%s: both say %q, %v", unit, id.Time, err)
		}
	}
	if _, err := NewDecoder(Format{Format: "jsonl", User: "u", Time: "t", TimeUnit: "s", WallZone: "Mars"}); err ==
		nil {
		t.Error("a zone that does not exist is accepted")
	}
}
