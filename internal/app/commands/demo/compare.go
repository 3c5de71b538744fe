package demo

import (
	"context"
	"fmt"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/app/words"

	"github.com/tollgate-dp/tollgate/internal/app/demo"
	"github.com/tollgate-dp/tollgate/internal/app/plan/choice"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

const (
	// closeEnough is the typical error up to which no advice is looked for.
	closeEnough = 0.1
	// worthwhile is by which part an advice must lessen the typical error to be told, unless it
	// makes values useful that are not.
	worthwhile = 0.2
)

// comparison is how far the released values are from the real counts, beside a forecast.
type comparison struct {
	events  *choice.Events
	now     *choice.Outcome // what the settings were forecast to give
	typical float64         // error of the values that were released
	cells   int             // that hold half of the events
}

// compare looks at the source once more; nil where it has nothing that can be counted, and of a run
// that a signal has ended. Close the comparison's events.
func (j *job) compare(result demo.Result, shown map[cell]float64) (*comparison, error) {
	if result.Drained {
		return nil, nil //nolint:nilnil // there is nothing to compare
	}
	f := j.flags
	from, to := j.source.Range()
	e, real, size := choice.NewEvents([32]byte{}, max(0, from.UnixMilli()), to.UnixMilli(), ""),
		choice.NewTally[cell](f.kindOf()), f.window.Milliseconds()
	if err := j.events(func(v *event.Event) error {
		if v.Millis < from.UnixMilli() || v.Millis >= to.UnixMilli() {
			return nil
		}
		if keys := j.settings.PublicKeys; keys != nil && !slices.Contains(keys, string(v.Key)) {
			return nil
		}
		real.Add(cell{v.Millis - v.Millis%size, string(v.Key)}, string(v.User), v.Value)
		return e.Add(v.User, v.Key, v.Millis, v.Value)
	}); err != nil {
		return nil, err
	}
	if real.Len() == 0 {
		return nil, e.Close() //nolint:nilnil // there is nothing to compare
	}
	s := f.setting()
	s.Window, s.Lasts, s.Noise = f.window, f.lasts, f.finest(f.kindOf())/deviations(f.confidence)
	now, err := e.Forecast(s, f.compile(j.settings.PublicKeys))
	if err != nil {
		return nil, err
	}
	out := &comparison{events: e, now: now}
	out.typical, out.cells = choice.TypicalError(real.Real(), shown)
	return out, nil
}

// text says how far the released values are from the real ones, and what error was forecast. among
// says of which values the error is the median; "" leaves that out.
func (c *comparison) text(f *demoFlags, among string) string {
	of, forecast := f.realValue()+f.ofValues(), "forecast"
	if f.kindOf().Tree != nil { // statistics are compared by themselves
		return fmt.Sprintf("forecast: %s; %s of the events count", typically(c.now, of), words.Percent(c.now.Counted))
	}
	if kind := f.kindOf(); kind.Vector != nil && kind.Vector.Ratios != 1 {
		of, forecast = "the real "+kind.Texts.Label+f.ofValues(), "forecast for the number of events"
	}
	return fmt.Sprintf("typically within %s of %s%s; %s: %s, with %s of the events counted", words.Percent(c.typical),
		of, among, forecast, words.Percent(c.now.Typical), words.Percent(c.now.Counted))
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
}

// advise says to the holder of a file the whole command that would help most.
func (j *job) advise(ctx context.Context, c *comparison) error {
	if j.flags.input == "" || c.typical <= closeEnough {
		return nil // made-up events need no advice
	}
	f := j.flags
	f.planned = 0 // the command gives everything and pays for no choice
	answer, err := f.advise(ctx, j.progress, c.events, f.question(j.settings.PublicKeys, f.windowSizes()))
	if err != nil {
		return err
	}
	best := &answer.Best
	if best.Typical > choice.Useful {
		j.progress.Note("nothing of use can be shown at ε = %s: %s", words.Digits(f.epsilon), f.why(best))
	}
	if best.Shown >= 0.5 && (best.Typical < (1-worthwhile)*c.now.Typical || best.Typical <= choice.Useful &&
		c.typical > choice.Useful) {
		j.progress.Note("what would help most (chosen by looking at the file): %s, with\n%s",
			typically(best, f.realValue()), folded(f.demoCommand(best.Setting), "  "))
	}
	for _, o := range answer.Epsilon {
		if best.Typical > choice.Useful && o.Epsilon > f.epsilon && o.Typical <= choice.Useful {
			j.progress.Note("ε of %s, a weaker promise: %s, with\n%s", words.Digits(o.Epsilon),
				typically(&o, f.realValue()), folded(f.demoCommand(o.Setting), "  "))
			break
		}
	}
	return nil
}

// cell is a key in a window.
type cell struct {
	start int64 // Unix milliseconds
	key   string
}
