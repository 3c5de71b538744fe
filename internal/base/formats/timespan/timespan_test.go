package timespan_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/base/formats/timespan"
	_ "github.com/tollgate-dp/tollgate/internal/testing/runseed"
)

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "0s": 0, "500ms": 500 * time.Millisecond, "90s": 90 * time.Second, "1m": time.Minute,
		"1h30m": 90 * time.Minute,
		"1d":    24 * time.Hour, "30d": 720 * time.Hour, "1d1ms": 24*time.Hour + time.Millisecond,
	} {
		if got, err := timespan.Parse(text); err != nil || got != want {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "1", "-1s", "1.5h", "h", "1 h", "1w", "1m1h",
		"1h1h", "1us", "99999999999d", "1hh", "１h"} {
		if got, err := timespan.Parse(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

func TestDurationsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, 1<<43).Draw(t, "ms")) * time.Millisecond
		if got, err := timespan.Parse(timespan.Text(d)); err != nil || got != d {
			t.Fatalf("%v became %q and %v, %v", d, timespan.Text(d), got, err)
		}
	})
}
