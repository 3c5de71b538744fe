package commands

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/long"
)

// zonedFile writes an event of a user of its own for each half hour of the days around a change of
// the clock in Zurich, in milliseconds since 1970.
func zonedFile(t testing.TB) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("user,page,when\n")
	end := time.Date(2025, 10, 27, 23, 0, 0, 0, time.UTC)
	for at := time.Date(2025, 10, 24, 22, 0, 0, 0, time.UTC); at.Before(end); at = at.Add(30 * time.Minute) {
		fmt.Fprintf(&b, "u%d,home,%d\n", at.Unix(), at.UnixMilli())
	}
	return write(t, "zurich.csv", b.String())
}

const ofZone = " --header --user-field user --key-field page --time-field when --time-unit ms --time-zone Europe/Zurich --window 1d --public-keys home" +
	" --absolute 0.1 --lasts 5d --epsilon 1000"

// The noise has a deviation of about 0.03 events.
func TestDemoCountsTheDaysOfAZone(t *testing.T) {
	t.Parallel()
	long.Test(t)
	path := zonedFile(t)
	args := append([]string{"demo", "--input", path}, strings.Fields(ofZone)...)
	stdout, _ := mustRun(t, append(slices.Clone(args), "--format", "json")...)
	var got []string
	for _, m := range regexp.MustCompile(`"window_start":"([^"]*)","window_end":"([^"]*)",.*"value":([^,]*)`).FindAllStringSubmatch(stdout, -1) {
		var value float64
		fmt.Sscan(m[3], &value) //nolint:errcheck // 0 is wrong as well
		got = append(got, fmt.Sprintf("%s %s %.0f", m[1], m[2], value))
	}
	want := []string{
		"2025-10-24T22:00:00Z 2025-10-25T22:00:00Z 48", "2025-10-25T22:00:00Z 2025-10-26T23:00:00Z 50", "2025-10-26T23:00:00Z 2025-10-27T23:00:00Z 48",
	}
	if !slices.Equal(got, want) {
		t.Errorf("released:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, ends := range [][]string{
		{"--from", "2025-10-26", "--to", "2025-10-27"},
		{"--from", "2025-10-26T00:00:00", "--to", "2025-10-26T23:00:00Z"},
		{"--from", "2025-10-26T00:00:00+02:00", "--to", "2025-10-27T00:00:00+01:00"},
	} {
		stdout, _ := mustRun(t, append(slices.Clone(args), ends...)...)
		if !regexp.MustCompile(`window \(Europe/Zurich\)`).MatchString(stdout) || !regexp.MustCompile(`(?m)^2025-10-26 +home +(49\.[89]|50\.[01])\d* `).MatchString(stdout) || strings.Contains(stdout, "2025-10-25 ") || strings.Contains(stdout, "2025-10-27 ") {
			t.Errorf("%v:\n%s", ends, stdout)
		}
	}
	code, _, stderr := run(t, append(slices.Clone(args), "--from", "2025-10-26T00:00:00Z")...)
	if code != exitUsage || !strings.Contains(stderr, "begins in Europe/Zurich, for example 2025-10-26T00:00:00 or 2025-10-27T00:00:00") {
		t.Errorf("a time at which no day begins: %s", stderr)
	}
}
