package run

import (
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
)

// A time without an offset is in the zone of windows, as with init --start.
func TestUntilIsATimeInTheZoneOfWindows(t *testing.T) {
	for _, c := range []struct{ text, zone, want string }{
		{"2025-10-27", "Europe/Zurich", "2025-10-26T23:00:00Z"},
		{"2025-10-27T00:00:00", "Europe/Zurich", "2025-10-26T23:00:00Z"},
		{"2025-10-27T00:00:00Z", "Europe/Zurich", "2025-10-27T00:00:00Z"},
		{"2025-10-27T00:00:00+02:00", "Europe/Zurich", "2025-10-26T22:00:00Z"},
		{"2025-10-27", "", "2025-10-27T00:00:00Z"},
		{"2025-10-26T01:30:00Z", "Europe/Zurich", "2025-10-26T01:30:00Z"}, // clocks there have been set back
	} {
		v := command.TimeValue{Words: []string{"now"}}
		must.Succeed(t, v.Set(c.text))
		if got := (&command.TimeValue{Time: v.Moment(c.zone)}).String(); got != c.want {
			t.Errorf("--until %s in zone %q is %s, want %s", c.text, c.zone, got, c.want)
		}
	}
}
