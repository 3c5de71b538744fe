package commands

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

const (
	visitsCSV   = "when,who,where\n2025-03-03T01:00:00Z,alice,north\n2025-03-03T02:00:00Z,bob,south\n"
	visitsJSONL = `{"when":"2025-03-03T01:00:00Z","who":"alice","where":"north"}` + "\n" + `{"when":"2025-03-03T02:00:00Z","who":"bob","where":"south"}` + "\n"
)

// One record of 1970 does not start a run of half a million windows: it is named, with the flag
// that leaves it out, which works.
func TestOneRecordFarAwayIsNamedBeforeALongRun(t *testing.T) {
	t.Parallel()
	text := visitsCSV
	for i := range 50 {
		text += fmt.Sprintf("2025-03-03T%02d:30:00Z,u%d,north\n", i%24, i)
	}
	for name, tc := range map[string]struct{ extra, want, cure string }{
		"early": {"1970-01-01T00:00:03Z,mallory,north\n", "the event in line 54 is of 1970-01-01T00:00:03Z, and most come after", "--from 2025-03-03T00:00:00Z"},
		"late":  {"2999-01-01T00:00:03Z,mallory,north\n", "the event in line 54 is of 2999-01-01T00:00:03Z, and most come before", "--to 2025-03-04T00:00:00Z"},
	} {
		file := write(t, "visits.csv", text+tc.extra)
		args := fileArgs(file, "--window", "1h", "--public-keys", "north,south", "--format", "json")
		code, stdout, stderr := run(t, args...)
		if code != exitError || stdout != "" || !strings.Contains(stderr, tc.want) || !strings.Contains(stderr, tc.cure) || !strings.Contains(stderr, "--all-windows") || strings.Contains(stderr, "mallory") {
			t.Errorf("%s: exit %d, stderr %q", name, code, stderr)
		}
		stdout, _ = mustRun(t, append(args, strings.Fields(tc.cure)...)...)
		if got := len(parse(t, stdout)); got != 48 {
			t.Errorf("%s: %d releases with %s", name, got, tc.cure)
		}
	}
	spread := "when,who,where\n"
	for year := range 50 {
		spread += fmt.Sprintf("%d-01-01T00:00:00Z,a,north\n", 1975+year)
	}
	code, _, stderr := run(t, fileArgs(write(t, "spread.csv", spread), "--window", "1h")...)
	if code != exitError || !strings.Contains(stderr, "take larger windows (--window)") || strings.Contains(stderr, "the event in line") {
		t.Errorf("spread: exit %d, stderr %q", code, stderr)
	}
}

// The standard input is a file: demo and plan read it, whatever it is compressed with.
func TestTheStandardInputIsAFile(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(people(t))
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	flags := []string{"--input", "-", "--input-format", "csv", "--header", "--user-field", "who", "--key-field", "where", "--time-field", "when", "--window", "24h"}
	for name, want := range map[string]string{"demo": "every record of the file is accounted for", "plan": "4,000 events"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestProcess$")
		cmd.Env = append(os.Environ(), processVariable+"="+strings.Join(append([]string{name}, flags...), "\n"))
		cmd.Stdin = bytes.NewReader(packed.Bytes())
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v, %s", name, err, out)
		}
	}
}
