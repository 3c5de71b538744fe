package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/google/differential-privacy/privacy-on-beam/v3/pbeam"
)

// realSet is a data set of internal/testing/realdata, with the settings for Privacy on Beam that an
// expert would choose by looking at the data. window is the smallest of a day, a week, 30, 90 or
// 365 days with an error of at most a quarter (otherwise the one with the least error). The bounds
// are the best among the quantiles of users' contributions.
type realSet struct {
	name       string
	window     time.Duration
	partitions int64 // maximum number of (window, key) pairs per user, over all windows
	events     int64 // maximum number of events per user in a pair
}

const day = 24 * time.Hour

var realSets = []realSet{
	{"cdnow", 7 * day, 12, 1},
	{"flights", 90 * day, 76, 11},
	{"films", 365 * day, 50, 1},
	{"orders", 7 * day, 454, 30},
	{"clicks", 7 * day, 11, 5},
	{"lab", 30 * day, 77, 1},
	{"logs", 7 * day, 12, 8},
	{"reviews", 7 * day, 4, 1},
	{"edits", day, 1, 10},
	{"trips", 365 * day, 47, 45},
}

// measureReal runs a tollgate binary on each file from fetch.sh: the demo with default settings,
// then plan and the demo that plan recommends. Then it runs Privacy on Beam with the bounds of
// realSets. Errors are relative to all events in the file.
func measureReal(ctx context.Context, args []string, out io.Writer) error {
	if len(args) < 2 {
		return errors.New(
			"realdata takes the directory of fetch.sh, the tollgate binary and, to run only some, names of data sets")
	}
	silence()
	beam.Init()
	w := tabwriter.NewWriter(out, 0, 4, 1, ' ', 0)
	fmt.Fprintln(w,
		"| data | window, values | error | CPU s | plan: window | forecast | error | CPU s | Privacy on Beam: "+
			"window | error |") //nolint:errcheck // Flush reports it
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|---|") //nolint:errcheck // Flush reports it
	for _, s := range realSets {
		if len(args) > 2 && !slices.Contains(args[2:], s.name) {
			continue
		}
		path, err := filepath.Abs(filepath.Join(args[0], s.name+".csv"))
		if err != nil {
			return err
		}
		if shaped.events, err = readReal(path); err != nil {
			return err
		}
		r := realRun{events: shaped.events, binary: args[1], path: path}
		fmt.Fprintf(w, "| %s | %s | %s |", s.name, r.demo(ctx, "demo", r.fields()...),
			r.plan(ctx)) //nolint:errcheck // Flush reports it
		pobError, err := s.private(ctx)
		if err != nil {
			return fmt.Errorf("running Privacy on Beam on %s: %w", s.name, err)
		}
		fmt.Fprintf(w, " %s | %s |\n", windowText(s.window), percent(pobError)) //nolint:errcheck // Flush reports it
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// readReal reads a file with the columns user, key and time.
func readReal(path string) ([]happened, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	rows := csv.NewReader(bufio.NewReader(file))
	rows.ReuseRecord = true
	var out []happened
	for header := true; ; header = false {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err == nil && !header {
			var at time.Time
			at, err = time.Parse(time.RFC3339, row[2])
			out = append(out, happened{row[0], row[1], at})
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", path, err)
		}
	}
}

// truthOf counts the events of each (window, key) pair, which is a partition of Privacy on Beam.
func truthOf(events []happened, window time.Duration) map[string]float64 {
	shaped.window = window.Milliseconds()
	truth := map[string]float64{}
	for _, e := range events {
		truth[partitionOf(e)]++
	}
	return truth
}

// typicalError returns the median of |value − truth| / truth over the largest cells that together
// contain half of all events. The error of a cell without a value is 1.
func typicalError(truth, values map[string]float64) float64 {
	type cell struct{ truth, wrong float64 }
	var cells []cell
	total := 0.0
	for name, n := range truth {
		c := cell{n, 1}
		if v, shown := values[name]; shown {
			c.wrong = math.Abs(v-n) / n
		}
		cells = append(cells, c)
		total += n
	}
	slices.SortFunc(cells, func(a, b cell) int {
		return cmp.Or(cmp.Compare(b.truth, a.truth), cmp.Compare(a.wrong, b.wrong))
	})
	covered, heaviest := 0.0, 0
	for ; covered < total/2; heaviest++ {
		covered += cells[heaviest].truth
	}
	cells = cells[:heaviest]
	slices.SortFunc(cells, func(a, b cell) int { return cmp.Compare(a.wrong, b.wrong) })
	return (cells[(heaviest-1)/2].wrong + cells[heaviest/2].wrong) / 2
}

// realRun runs the binary on one file.
type realRun struct {
	events       []happened
	binary, path string
}

func (r *realRun) fields() []string {
	return []string{"--input", r.path, "--header", "--user-field", "user", "--key-field", "key", "--time-field", "time",
		"--time-unit", "rfc3339"}
}

// run runs the binary and returns its JSON output and its CPU time in seconds.
func (r *realRun) run(ctx context.Context, mode string, args ...string) ([]byte, float64, error) {
	ctx, stop := context.WithTimeout(ctx, 10*time.Minute)
	defer stop()
	var out, log bytes.Buffer
	cmd := exec.CommandContext(ctx, r.binary, append([]string{mode, "--format", "json"}, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &log
	err := cmd.Run()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, lastLine(log.Bytes()))
	}
	return out.Bytes(), (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), err
}

func lastLine(log []byte) []byte {
	lines := bytes.Split(bytes.TrimSpace(log), []byte("\n"))
	return lines[len(lines)-1]
}

// demo runs a demo and returns its cells of the table.
func (r *realRun) demo(ctx context.Context, mode string, args ...string) string {
	found, window, wrong, seconds, err := r.released(ctx, mode, args...)
	if err != nil {
		return fmt.Sprintf("%v | – | %.0f", err, seconds)
	}
	return fmt.Sprintf("%s, %d | %s | %.1f", window, found, percent(wrong), seconds)
}

// released runs a demo and compares the released values with the events.
func (r *realRun) released(ctx context.Context, mode string,
	args ...string) (found int, window string, wrong, seconds float64, err error) {
	text, seconds, err := r.run(ctx, mode, args...)
	if err != nil {
		return 0, "", 1, seconds, err
	}
	values, size := map[string]float64{}, time.Duration(0)
	for lines := json.NewDecoder(bytes.NewReader(text)); ; found++ {
		var v struct {
			Start time.Time `json:"window_start"`
			End   time.Time `json:"window_end"`
			Key   string    `json:"key"`
			Value float64   `json:"value"`
		}
		if err := lines.Decode(&v); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return 0, "", 1, seconds, err
		}
		size = v.End.Sub(v.Start)
		values[fmt.Sprint(v.Start.UnixMilli()/size.Milliseconds(), "|", v.Key)] = v.Value
	}
	if found == 0 {
		return 0, "–", 1, seconds, nil
	}
	return found, windowText(size), typicalError(truthOf(r.events, size), values), seconds, nil
}

// plan runs plan and the demo that it recommends.
func (r *realRun) plan(ctx context.Context) string {
	text, seconds, err := r.run(ctx, "plan", r.fields()...)
	var advice struct {
		Best struct {
			Window  string  `json:"window"`
			Typical float64 `json:"typical_error"`
		} `json:"recommended"`
		Demo string `json:"demo"`
	}
	if err == nil {
		err = json.Unmarshal(text, &advice)
	}
	var wrong float64
	if err == nil {
		_, _, wrong, _, err = r.released(ctx, "demo",
			append(r.fields(), strings.Fields(advice.Demo)...)...)
	}
	if err != nil {
		return fmt.Sprintf("%v | – | – | %.1f", err, seconds)
	}
	return fmt.Sprintf("%s | %s | %s | %.1f", advice.Best.Window, percent(advice.Best.Typical), percent(wrong), seconds)
}

// private returns the typical error of Privacy on Beam.
func (s *realSet) private(ctx context.Context) (float64, error) {
	truth := truthOf(shaped.events, s.window)
	counts, err := privateCounts(ctx, s.partitions, s.events)
	if err != nil {
		return 0, err
	}
	values := map[string]float64{}
	for _, c := range counts {
		values[c.key] = c.value
	}
	return typicalError(truth, values), nil
}

func percent(share float64) string {
	if share >= 0.995 && share <= 1 {
		return "100%"
	}
	return fmt.Sprintf("%.2g%%", 100*share)
}

func windowText(size time.Duration) string {
	if size%day == 0 {
		return fmt.Sprintf("%dd", size/day)
	}
	return fmt.Sprintf("%gh", size.Hours())
}

// happened is an event in a data set.
type happened struct {
	user, key string
	at        time.Time
}

// shaped is the input of shapedFn, which runs in this process.
var shaped struct {
	events []happened
	window int64 // milliseconds
}

func init() { register.DoFn2x1[[]byte, func(string, string), error](&shapedFn{}) }

// shapedFn emits the user of every event, and the event's window and key in one string.
type shapedFn struct{}

// ProcessElement implements Beam's DoFn.
func (*shapedFn) ProcessElement(_ []byte, emit func(string, string)) error {
	for _, e := range shaped.events {
		emit(e.user, partitionOf(e))
	}
	return nil
}

func partitionOf(e happened) string {
	return fmt.Sprint(e.at.UnixMilli()/shaped.window, "|", e.key)
}

// privateCounts counts with Privacy on Beam, in one pipeline over all windows.
func privateCounts(ctx context.Context, partitions, events int64) ([]count, error) {
	spec, err := pbeam.NewPrivacySpec(pbeam.PrivacySpecParams{
		AggregationEpsilon: 0.5 * epsilon, AggregationDelta: 0.5 * delta, PartitionSelectionEpsilon: 0.5 * epsilon,
		PartitionSelectionDelta: 0.5 * delta,
	})
	if err != nil {
		return nil, err
	}
	p, s := beam.NewPipelineWithRoot()
	users := beam.ParDo(s, &shapedFn{}, beam.Impulse(s))
	counts := pbeam.Count(s, pbeam.MakePrivate(s, users, spec), pbeam.CountParams{
		NoiseKind: pbeam.GaussianNoise{}, MaxPartitionsContributed: partitions, MaxValue: events,
		AllowNegativeOutputs: true,
	})
	beam.ParDo0(s, &privateFn{}, counts)
	collected.counts = nil
	err = runDirect(ctx, p)
	return collected.counts, err
}
