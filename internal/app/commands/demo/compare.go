package demo

import (
	"fmt"

	"github.com/tollgate-dp/tollgate/internal/app/demo"
	"github.com/tollgate-dp/tollgate/internal/app/plan/choice"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/internal/app/words"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// comparison holds the error of the released values against the real counts, and a forecast.
type comparison struct {
	now     *choice.Outcome // forecast for the settings
	typical float64         // typical error of the released values
	empty   int             // public keys without events
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
	defer e.Close()            //nolint:errcheck // its temporary files are no longer needed
	empty := map[string]bool{} // whether a public key has no event yet
	for _, key := range f.PublicKeys {
		empty[key] = true
	}
	if err := j.events(func(v *event.Event) error {
		if v.Millis < from.UnixMilli() || v.Millis >= to.UnixMilli() {
			return nil
		}
		if f.PublicKeys != nil {
			if _, listed := empty[string(v.Key)]; !listed {
				return nil
			}
			empty[string(v.Key)] = false
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
	for _, still := range empty {
		if still {
			out.empty++
		}
	}
	out.typical, _ = choice.TypicalError(real.Real(), shown)
	return out, nil
}

// text describes the typical error of the released values, and the forecast error.
func (c *comparison) text(f *demoFlags) string {
	compared, forecast, kind := f.realValue(), "forecast", f.MetricKind()
	if kind.Tree != nil { // the real ranks and shares are not computed
		return fmt.Sprintf("forecast: %s; %s of the events count", typically(c.now, compared),
			words.Percent(c.now.Counted))
	}
	if kind.Vector != nil && kind.Vector.Ratios != 1 {
		compared, forecast = "the real "+kind.Texts.Label, "forecast for the number of events"
	}
	return fmt.Sprintf("typically within %s of %s; %s: %s, with %s of the events counted", words.Percent(c.typical),
		compared, forecast, words.Percent(c.now.Typical), words.Percent(c.now.Counted))
}

// noteComparison tells the owner of a file how far the released values are from the real ones.
func (j *job) noteComparison(c *comparison) {
	if c.typical > choice.Useful {
		j.progress.Note("why: %s", j.flags.why(c.now))
	}
	if c.empty > 0 {
		j.progress.Note("check --public-keys: %s without an event, whose values are only noise",
			terminal.Count(c.empty, "key"))
	}
	if j.flags.input != "" {
		j.progress.Note("compared with the file: %s; tollgate plan with the same flags shows other settings",
			c.text(j.flags))
	}
}

// cell is a key in a window.
type cell struct {
	start int64 // Unix milliseconds
	key   string
}
