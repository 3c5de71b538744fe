package commands

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/kafka/kafkalog"
)

const (
	visitsCSV   = "when,who,where\n2025-03-03T01:00:00Z,alice,north\n2025-03-03T02:00:00Z,bob,south\n"
	visitsJSONL = `{"when":"2025-03-03T01:00:00Z","who":"alice","where":"north"}` + "\n" + `{"when":"2025-03-03T02:00:00Z","who":"bob","where":"south"}` + "\n"
)

// A file of another format is told by what is in it, not blamed on the names of fields; the cure
// works.
func TestAFileOfAnotherFormatNamesTheOneThatFits(t *testing.T) {
	t.Parallel()
	addr := broker(t)
	create(t, addr, kafkalog.TopicSpec{Name: "visits", Partitions: 1})
	fields := []string{"--user-field", "who.id", "--time-field", "when"} // as Avro has it
	avroFile := container(t, visitSchema, 3)
	for _, tc := range []struct {
		name, text, flags, want string
		fits                    string // "": no format does
	}{
		{"jsonl.csv", visitsJSONL, "--header", "it is not csv but jsonl: it begins with a JSON object", "--input-format jsonl"},
		{"jsonl.tsv", visitsJSONL, "--header", "it is not tsv but jsonl", "--input-format jsonl"},
		{"csv.jsonl", visitsCSV, "", "it is not jsonl but csv", "--input-format csv with --header, or --columns a,b,c"},
		{"tsv.csv", strings.ReplaceAll(visitsCSV, ",", "\t"), "--header", "it is not csv but tsv", "--input-format tsv"},
		{"csv.avro", visitsCSV, "--schema " + write(t, "visit.avsc", visitSchema), "it is not avro but csv", "--input-format csv"},
		{"array.csv", "[" + visitsJSONL + "]", "--header", "it is not csv but jsonl", "--input-format jsonl"},
		{"avro.csv", avroFile, "--header", "it is not csv but avro", "--input-format avro"},
		{"avro.jsonl", avroFile, "", "it is not jsonl but avro", "--input-format avro"},
	} {
		file := write(t, tc.name, tc.text)
		if tc.text == avroFile {
			text, err := os.ReadFile(avroFile)
			if err != nil {
				t.Fatal(err)
			}
			file = write(t, tc.name, string(text))
		}
		code := exitUsage
		if tc.fits == "" {
			code = exitError
		}
		for _, command := range []string{"demo", "replay --brokers " + addr + " --topic visits"} {
			flags := strings.Fields(command + " " + tc.flags)
			if command == "demo" && strings.HasPrefix(tc.flags, "--schema") {
				flags = flags[:1]
			}
			got, stdout, stderr := run(t, append(append(flags, fields...), "--input", file)...)
			if got != code || stdout != "" || !strings.Contains(stderr, tc.want) || !strings.Contains(stderr, tc.fits) || strings.Contains(stderr, "column \"") || strings.Contains(stderr, "alice") {
				t.Errorf("%s, %s: exit %d, stderr %q", command, tc.name, got, stderr)
			}
		}
	}
	if on := onTopic(t, addr, "visits"); len(on) > 0 {
		t.Errorf("%d records were written", len(on))
	}
}

// A column that is not there names the flag, and the columns that are.
func TestAMissingColumnNamesTheFlag(t *testing.T) {
	t.Parallel()
	file := write(t, "visits.csv", visitsCSV)
	addr := broker(t)
	create(t, addr, kafkalog.TopicSpec{Name: "visits", Partitions: 1})
	for _, command := range []string{"demo", "replay --brokers " + addr + " --topic visits"} {
		code, _, stderr := run(t, append(strings.Fields(command), "--input", file, "--header", "--user-field", "Who", "--time-field", "when")...)
		if code != exitError || !strings.Contains(stderr, `--user-field`) || !strings.Contains(stderr, `there is no column "Who": did you mean "who"? The columns are when, who, where`) {
			t.Errorf("%s: exit %d, stderr %q", command, code, stderr)
		}
	}
}

// A replay of nothing is no success.
func TestAReplayOfNothingSaysSo(t *testing.T) {
	t.Parallel()
	addr := broker(t)
	create(t, addr, kafkalog.TopicSpec{Name: "visits", Partitions: 1})
	for name, tc := range map[string]struct{ text, want string }{
		"empty.csv":   {"", "the file is empty"},
		"header.csv":  {"when,who,where\n", "the header is all there is"},
		"empty.jsonl": {"", "the file is empty"},
		"blank.jsonl": {"\n\n", "the file is empty"},
	} {
		file := write(t, name, tc.text)
		args := []string{"replay", "--brokers", addr, "--topic", "visits", "--input", file, "--user-field", "who", "--time-field", "when"}
		if strings.HasSuffix(name, ".csv") {
			args = append(args, "--header")
		}
		code, _, stderr := run(t, args...)
		if code != exitError || !strings.Contains(stderr, file) || !strings.Contains(stderr, tc.want) || strings.Contains(stderr, "is on topic") {
			t.Errorf("%s: exit %d, stderr %q", name, code, stderr)
		}
	}
}

// What is written and will not be counted is said: events before the deployment's start, and
// events that the topic's brokers delete.
func TestAReplayOfWhatIsNotCountedSaysSo(t *testing.T) {
	t.Parallel()
	addr := broker(t)
	cfg := deploymentFile(t, addr)
	mustRun(t, "init", "--config", cfg, "--generate-keys", "--create-topics", "--event-partitions", "1", "--start", "2025-03-01")
	lines := func(times ...string) string {
		var b strings.Builder
		for i, at := range times {
			fmt.Fprintf(&b, "%s,u%d,north\n", at, i)
		}
		return write(t, "visits.csv", b.String())
	}
	const before, after = "2024-12-31T00:00:00Z", "2025-03-02T00:00:00Z"
	for want, file := range map[string]string{
		"all of the records are from before":            lines(before, before),
		"more than half of the records are from before": lines(before, after, before),
		"some of the records are from before":           lines(before, after, after),
		"some of the records are from before 2":         lines(before, "broken", "broken"),
		"":                                              lines(after),
	} {
		_, stderr := mustRun(t, "replay", "--config", cfg, "--input", file)
		if want == "" && strings.Contains(stderr, "not be counted") || !strings.Contains(stderr, want) || want != "" && !strings.Contains(stderr, "before 2025-03-01T00:00:00Z, where the deployment's time begins, and will not be counted. If they are newer, correct events.fields.time") {
			t.Errorf("stderr %q, want %q", stderr, want)
		}
	}
	create(t, addr, kafkalog.TopicSpec{Name: "short", Partitions: 1, Config: map[string]string{"retention.ms": "86400000"}})
	now := time.Now().UTC().Format(time.RFC3339)
	for want, file := range map[string]string{
		"all of the records are older than the 1d for which topic short keeps events": lines(before, after),
		"some of the records are older":                                               lines(before, now),
		"":                                                                            lines(now),
	} {
		_, stderr := mustRun(t, "replay", "--brokers", addr, "--topic", "short", "--input", file, "--columns", "when,who,where", "--user-field", "who", "--time-field", "when")
		if want == "" && strings.Contains(stderr, "older") || !strings.Contains(stderr, want) || want != "" && !strings.Contains(stderr, "retention.ms") {
			t.Errorf("stderr %q, want %q", stderr, want)
		}
	}
}

// Files that flags name are looked at before any work: here, before brokers that are not there.
func TestMissingFilesAreFoundFirst(t *testing.T) {
	t.Parallel()
	csv, directory := write(t, "visits.csv", visitsCSV), t.TempDir()
	missing := filepath.Join(directory, "missing.csv")
	replay := []string{"replay", "--brokers", "127.0.0.1:1", "--topic", "x", "--user-field", "who", "--time-field", "when", "--header"}
	demo := []string{"demo", "--user-field", "who", "--time-field", "when", "--header"}
	for _, args := range [][]string{
		append(replay, "--input", missing), append(replay, "--input", directory, "--input-format", "csv"),
		append(replay, "--input", csv, "--tls-ca", missing), append(replay, "--input", csv, "--tls-cert", missing), append(replay, "--input", csv, "--tls-key", missing),
		append(replay, "--input", csv, "--sasl-mechanism", "plain", "--sasl-user", "u", "--sasl-password-file", missing),
		append(replay, "--input", csv, "--schema", missing), append(replay, "--input", csv, "--registry-ca", missing),
		append(replay, "--input", csv, "--registry-password-file", missing),
		append(demo, "--input", missing), append(demo, "--input", csv, "--noise-key-file", missing), append(demo, "--input", csv, "--public-keys", missing),
		append(demo, "--input", csv, "--report", missing+"/page.html"), append(demo, "--input", csv, "--trusted-report", missing+"/tallies.json"),
	} {
		code, stdout, stderr := run(t, args...)
		named := strings.Contains(stderr, missing) || strings.Contains(stderr, directory+" is a directory")
		if code != exitError || stdout != "" || !named || !strings.Contains(stderr, " --") || strings.Contains(stderr, "127.0.0.1") || strings.Contains(stderr, "reading and sorting") {
			t.Errorf("%v: exit %d, stderr %q", args, code, stderr)
		}
	}
}

// A key file that is too long has wrong contents, as one with another text has.
func TestAKeyFileThatIsTooLongHasWrongContents(t *testing.T) {
	t.Parallel()
	key := write(t, "noise.key", strings.Repeat("0", 5000))
	code, _, stderr := run(t, "demo", "--events", "10", "--windows", "1", "--noise-key-file", key)
	if code != exitConfig || !strings.Contains(stderr, "longer than 4096 bytes") || !strings.Contains(stderr, "openssl rand -hex 32") {
		t.Errorf("exit %d, stderr %s", code, stderr)
	}
}

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
	if code != exitError || !strings.Contains(stderr, "take larger windows (--window)") || strings.Contains(stderr, "line ") {
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
	for name, want := range map[string]string{"demo": "every record of the file is accounted for", "plan": "users"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestProcess$")
		cmd.Env = append(os.Environ(), processVariable+"="+strings.Join(append([]string{name}, flags...), "\n"))
		cmd.Stdin = bytes.NewReader(packed.Bytes())
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v, %s", name, err, out)
		}
	}
}

// A file is what is in it: compressed, as one array, over lines, with times in a usual layout.
func TestADemoReadsFilesAsPeopleHaveThem(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ text, flags string }{
		"array.json":   {`[{"u": {"id": 7}, "at": "2025-03-03 01:00:00"}, {"u": {"id": "x"}, "at": "03/Mar/2025:02:00:00 +0100"}]`, "--user-field u.id"},
		"over.json":    {"{\n \"u\": \"a\",\n \"at\": \"2025-03-03\"\n}\n{\n \"u\": \"b\",\n \"at\": \"Mon, 03 Mar 2025 00:00:01 GMT\"}", "--user-field u"},
		"american.csv": {"u,at\na,3/3/2025 12:05 AM\nb,3/3/2025 11:59 PM\n", "--header --user-field u --time-zone UTC --time-layout '%m/%d/%Y %I:%M %p'"},
	} {
		args := append([]string{"demo", "--input", write(t, name, tc.text), "--time-field", "at", "--window", "24h", "--format", "json"}, strings.Fields(strings.ReplaceAll(tc.flags, "'%m/%d/%Y %I:%M %p'", ""))...)
		if strings.Contains(tc.flags, "layout") {
			args = append(args, "%m/%d/%Y %I:%M %p")
		}
		stdout, stderr := mustRun(t, args...)
		if got := parse(t, stdout); len(got) != 1 || strings.Contains(stderr, "broken") {
			t.Errorf("%s: %s%s", name, stdout, stderr)
		}
	}
}

// Two fields are one key, which a configuration and --key-field make alike.
func TestADemoCountsPairsOfFields(t *testing.T) {
	t.Parallel()
	file := write(t, "visits.csv", "who,country,page,when\nu1,CH,/a|b,2025-03-03\nu2,DE,/,2025-03-03\n")
	stdout, stderr := mustRun(t, "demo", "--input", file, "--header", "--user-field", "who", "--key-field", "country,page", "--time-field", "when", "--window", "24h",
		"--public-keys", `CH|/a\|b,DE|/,DE|/a`, "--format", "json", "--last-at-least", "1", "--strict")
	var keys []string
	for _, r := range parse(t, stdout) {
		keys = append(keys, r.Key)
	}
	if slices.Sort(keys); !slices.Equal(keys, []string{`CH|/a\|b`, "DE|/", "DE|/a"}) || strings.Contains(stderr, "does not list") {
		t.Errorf("%q, %s", keys, stderr)
	}
	code, _, stderr := run(t, "demo", "--input", file, "--header", "--user-field", "who", "--key-field", "country,pages", "--time-field", "when")
	if code != exitError || !strings.Contains(stderr, "looking for --key-field") || !strings.Contains(stderr, `there is no column "pages": did you mean "page"?`) {
		t.Errorf("exit %d, %s", code, stderr)
	}
}
