package initialise

import (
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
)

// A --start without an offset is a time in the zone of the windows.
func TestStartIsInTheZoneOfWindows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, zone, want string }{
		{"2025-10-25", "America/New_York", "2025-10-25T04:00:00Z"},
		{"2025-10-25T00:00:00Z", "America/New_York", "2025-10-25T00:00:00Z"},
		{"2025-10-25", "", "2025-10-25T00:00:00Z"},
	} {
		var v command.TimeValue
		must.Succeed(t, v.Set(c.text))
		for range 2 { // even when it is asked for again
			if got := v.Moment(c.zone).Format("2006-01-02T15:04:05Z"); got != c.want {
				t.Errorf("%s in %q: %s, want %s", c.text, c.zone, got, c.want)
			}
		}
	}
}
