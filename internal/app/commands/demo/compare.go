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

// closeEnough is the largest typical error that does not bring up plan.
const closeEnough = 0.1

// comparison is how far the released values are from the real counts, beside a forecast.
type comparison struct {
	now     *choice.Outcome // what the settings were forecast to give
	typical float64         // error of the values that were released
	cells   int             // that hold half of the events
}

// compare looks at the source once more; nil where it has nothing that can be counted, and of a run
// that a signal has ended.
func (j *job) compare(result demo.Result, shown map[cell]float64) (*comparison, error) {
	if result.Drained {
		return nil, nil //nolint:nilnil // there is nothing to compare
	}
	f := j.flags
	from, to := j.source.Range()
	e, real, size := choice.NewEvents([32]byte{}, max(0, from.UnixMilli()), to.UnixMilli(), ""),
		choice.NewTally[cell](f.kindOf()), f.Window.Milliseconds()
	defer e.Close() //nolint:errcheck // what it kept is gone
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

// text says how far the released values are from the real ones, and what error was forecast. among
// names the values whose median the error is; "" leaves them out.
func (c *comparison) text(f *demoFlags, among string) string {
	compared, forecast := f.realValue()+f.ofValues(), "forecast"
	if f.kindOf().Tree != nil { // the real ranks and shares are not looked at
		return fmt.Sprintf("forecast: %s; %s of the events count", typically(c.now, compared),
			words.Percent(c.now.Counted))
	}
	if kind := f.kindOf(); kind.Vector != nil && kind.Vector.Ratios != 1 {
		compared, forecast = "the real "+kind.Texts.Label+f.ofValues(), "forecast for the number of events"
	}
	return fmt.Sprintf("typically within %s of %s%s; %s: %s, with %s of the events counted", words.Percent(c.typical),
		compared, among, forecast, words.Percent(c.now.Typical), words.Percent(c.now.Counted))
}

// ofValues names the field whose mean, variance and so on a text is about; "" for counts.
func (f *demoFlags) ofValues() string {
	if kind := f.kindOf(); kind.Values() && kind.Tree == nil {
		if f.badValues > 0 {
			return " of " + f.ValueField + " where it can be read"
		}
		return " of " + f.ValueField
	}
	return ""
}

// sayCompared says to the holder of a file how far the released values are from the real ones.
func (j *job) sayCompared(c *comparison) {
	f := j.flags
	if c.typical > choice.Useful {
		j.progress.Note("why: %s", f.why(c.now))
	}
	if f.input == "" {
		return
	}
	j.progress.Note("compared with the file: %s", c.text(f, " ("+medianOf(c.cells, f.kindOf().One())+")"))
	if c.typical > closeEnough {
		j.progress.Note("tollgate plan with the same flags for the file shows which settings bring values closer")
	}
}

// medianOf names the n values whose errors have the typical error as their median.
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
