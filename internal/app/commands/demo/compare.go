package demo

import (
	"fmt"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/app/demo"
	"github.com/tollgate-dp/tollgate/internal/app/plan/choice"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/internal/app/words"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// closeEnough is the largest typical error at which the demo does not suggest tollgate plan.
const closeEnough = 0.1

// comparison holds the error of the released values against the real counts, and a forecast.
type comparison struct {
	now     *choice.Outcome // forecast for the settings
	typical float64         // typical error of the released values
	cells   int             // number of the largest cells that hold half of the events
}

// compare reads the source once more and compares. It returns nil if the source has nothing that
// can be counted, or if a signal ended the run.
func (j *job) compare(result demo.Result, shown map[cell]float64) (*comparison, error) {
	if result.Drained {
		return nil, nil //nolint:nilnil // there is nothing to compare
	}
	f := j.flags
	from, to := j.source.Range()
	e, real, size := choice.NewEvents([32]byte{}, max(0, from.UnixMilli()), to.UnixMilli(), ""),
		choice.NewTally[cell](f.MetricKind()), f.Window.Milliseconds()
	defer e.Close() //nolint:errcheck // its temporary files are no longer needed
	if err := j.events(func(v *event.Event) error {
		if v.Millis < from.UnixMilli() || v.Millis >= to.UnixMilli() {
			return nil
		}
		if keys := j.flags.PublicKeys; keys != nil && !slices.Contains(keys, string(v.Key)) {
			return nil
		}
		real.Add(cell{v.Millis - v.Millis%size, string(v.Key)}, string(v.User), v.Value)
		return e.Add(v.User, v.Key, v.Millis, v.Value)
	}); err != nil {
		return nil, err
	}
	if real.Len() == 0 {
		return nil, nil //nolint:nilnil // there is nothing to compare
	}
	s := f.setting()
	s.Window, s.Lasts, s.Noise = f.Window, f.Lasts, finest(&f.Settings)/deviations(f.Target.Confidence)
	now, err := e.Forecast(s, f.compile)
	if err != nil {
		return nil, err
	}
	out := &comparison{now: now}
	out.typical, out.cells = choice.TypicalError(real.Real(), shown)
	return out, nil
}

// text describes the typical error of the released values, and the forecast error. among names the
// values whose median error this is; "" leaves them out.
func (c *comparison) text(f *demoFlags, among string) string {
	compared, forecast := f.realValue()+f.ofValues(), "forecast"
	if f.MetricKind().Tree != nil { // the real ranks and shares are not computed
		return fmt.Sprintf("forecast: %s; %s of the events count", typically(c.now, compared),
			words.Percent(c.now.Counted))
	}
	if kind := f.MetricKind(); kind.Vector != nil && kind.Vector.Ratios != 1 {
		compared, forecast = "the real "+kind.Texts.Label+f.ofValues(), "forecast for the number of events"
	}
	return fmt.Sprintf("typically within %s of %s%s; %s: %s, with %s of the events counted", words.Percent(c.typical),
		compared, among, forecast, words.Percent(c.now.Typical), words.Percent(c.now.Counted))
}

// ofValues names the field whose mean or other statistic is released; "" for counts.
func (f *demoFlags) ofValues() string {
	if kind := f.MetricKind(); kind.Values() && kind.Tree == nil {
		if f.badValues > 0 {
			return " of " + f.ValueField + " where it can be read"
		}
		return " of " + f.ValueField
	}
	return ""
}

// noteComparison tells the owner of a file how far the released values are from the real ones.
func (j *job) noteComparison(c *comparison) {
	f := j.flags
	if c.typical > choice.Useful {
		j.progress.Note("why: %s", f.why(c.now))
	}
	if f.input == "" {
		return
	}
	j.progress.Note("compared with the file: %s", c.text(f, " ("+medianOf(c.cells, f.MetricKind().One())+")"))
	if c.typical > closeEnough {
		j.progress.Note("tollgate plan with the same flags for the file shows which settings bring values closer")
	}
}

// medianOf names the n values whose median error is the typical error.
func medianOf(n int, one string) string {
	if n == 1 {
		return "one " + one + " with at least half of the events"
	}
	return "the median of " + terminal.Count(n, one) + " that hold half of the events"
}

// cell is a key in a window.
type cell struct {
	start int64 // Unix milliseconds
	key   string
}
