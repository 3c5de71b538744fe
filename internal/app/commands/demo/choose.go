package demo

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/demo"
	"github.com/tollgate-dp/tollgate/internal/app/plan/choice"
	html "github.com/tollgate-dp/tollgate/internal/app/report"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/internal/app/words"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/schemas/event"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// choiceShare is the part of the promise that a demo spends on choosing settings.
const choiceShare = 0.05

// decided returns the settings with s filled in wherever no flag was given. The finest noise is
// rounded to two significant digits.
func (f *demoFlags) decided(s choice.Setting) demo.Settings {
	c := f.Settings
	c.Window, c.Epsilon, c.Lasts = s.Window, s.Epsilon, s.Lasts
	if f.openValues && s.Min < s.Max {
		if c.Min, c.Max = s.Min, s.Max; f.choosesAbsolute() {
			c.Target.Absolute = f.coarseTarget(c.Min, c.Max)
		}
	}
	if f.noiseGiven() {
		return c
	}
	half, _ := strconv.ParseFloat(strconv.FormatFloat(s.Noise*deviations(f.Target.Confidence), 'g', 2, 64), 64)
	if f.MetricKind().CountTarget() {
		c.Target.Absolute = half
	} else {
		c.Noise = half
	}
	return c
}

// deviations returns half the width of a confidence interval, in standard deviations.
func deviations(confidence float64) float64 { return math.Sqrt2 * math.Erfinv(confidence) }

// finest returns the finest noise, as half the width of its confidence interval.
func finest(s *demo.Settings) float64 {
	if metrickind.Of(s.Kind).CountTarget() {
		return s.Target.Absolute
	}
	return s.Noise
}

// noiseFlag returns the name of the flag for the finest noise.
func (f *demoFlags) noiseFlag() string {
	if f.MetricKind().CountTarget() {
		return "absolute"
	}
	return "noise"
}

// noiseGiven reports whether the finest noise was given.
func (f *demoFlags) noiseGiven() bool { return f.given(f.noiseFlag()) }

// setting returns the parts of a setting that flags gave; parts still to be chosen are zero.
func (f *demoFlags) setting() choice.Setting {
	s := choice.Setting{Epsilon: f.Epsilon, Min: f.Min, Max: f.Max, Window: f.Window}
	if f.noiseGiven() {
		s.Noise = finest(&f.Settings) / deviations(f.Target.Confidence)
	}
	switch {
	case f.given("lasts"):
		s.Lasts = f.Lasts
	case !f.from.IsZero() && !f.to.IsZero():
		from, to := f.millis()
		s.Lasts = time.Duration(to-from) * time.Millisecond
	}
	return s
}

// setProvisional sets values for what is chosen later, so that everything else can be checked.
func (f *demoFlags) setProvisional() {
	s := f.setting()
	s.Noise = 1000
	if f.MetricKind().Vector != nil {
		s.Noise = 30 / f.Epsilon // with more noise, a variance could not have a wide range
	}
	if s.Lasts == 0 {
		s.Lasts = 365 * 24 * time.Hour
	}
	f.Settings = f.decided(s)
}

// choose chooses privately whichever of the window, the noise, the time for which the budget lasts
// and the range of values were not given. The promise covers the choice. No other run may use the
// key.
func (j *job) choose(key noisereduction.NoiseKey) error {
	f := j.flags
	if !f.chooses {
		return nil
	}
	f.Planned = choiceShare
	err := j.compile()
	if err != nil && f.openValues {
		return f.noRange("choosing the range of values: the promise is too small for it")
	}
	if err != nil {
		return err
	}
	format := j.source.Traits().Format
	encoded, err := json.Marshal(format)
	if err != nil {
		return fmt.Errorf("identifying a choice: %w", err)
	}
	from, to := f.millis() // not the range of the data, which one record can change
	e := choice.NewEvents(key.Secret.Reveal(), from, to, "")
	defer e.Close() //nolint:errcheck // its temporary files are no longer needed
	j.progress.Note("choosing windows and noise")
	if err := j.addTo(e); err != nil {
		return err
	}
	// The key serves only this choice, whose cost HEADER states before any count is released.
	found, err := e.Choose(choice.Private{Sizes: f.sizes(), Given: f.setting(), Compile: f.compile,
		Budget: j.deployment.Budget, Kind: f.MetricKind(), Range: f.openValues,
		Read: string(encoded) + f.skips(), Key: key})
	switch {
	case errors.Is(err, choice.ErrTooLittle) && f.openValues:
		return f.noRange("choosing the range of values: the promise is too small for it")
	case errors.Is(err, choice.ErrTooLittle):
		return command.Usage(fmt.Errorf("choosing windows and noise: %s of the promise is too little: raise "+
			"--epsilon, or give --window, --absolute and --lasts", words.Percent(choiceShare)))
	case err != nil:
		return err
	case found.Few && f.openValues:
		return f.noRange(fmt.Sprintf("choosing the range of values: %s are too few", about(found)))
	}
	f.Settings = f.decided(found.Setting)
	j.chosen = f.chosen(found)
	if file, ok := j.source.(*demo.File); ok {
		file.SetWindow(f.Window)
	}
	if err := j.compile(); err != nil {
		return err
	}
	j.page.Values = html.NewCollector(j.deployment)
	return nil
}

// noRange returns the error for a file of values if no range of values can be chosen.
func (f *demoFlags) noRange(why string) error {
	unit := ""
	if f.Decimals > 0 {
		unit = fmt.Sprintf(" in units of %s", terminal.Number(1/math.Pow10(f.Decimals), f.Decimals))
	}
	return command.Usage(fmt.Errorf("%s: give --min and --max%s, using values that you know without looking at the "+
		"file", why, unit))
}

// chosen describes how a setting was chosen, from protected numbers only.
func (f *demoFlags) chosen(found *choice.Found) string {
	spent, flag := words.Percent(choiceShare), "--"+f.noiseFlag()
	if found.Few {
		return fmt.Sprintf("window and noise are defaults, because %s are too few to choose from; finding this out "+
			"took %s of the budget; to avoid that, give --window, %s and --lasts", about(found), spent, flag)
	}
	text := fmt.Sprintf("chosen from noisy tallies of the events of about %s users, which took %s of the budget",
		terminal.Number(found.Users, 0), spent)
	if !found.Useful {
		text += fmt.Sprintf("; these say that little of use can be shown at ε = %v, but they are rough", f.Epsilon)
	}
	return text + "; to change it, give --window, " + flag + " or --lasts; tollgate plan shows what each would give"
}

// about formats a noisy number of users with two standard deviations.
func about(found *choice.Found) string {
	return fmt.Sprintf("about %s ± %s users", terminal.Number(max(0, found.Users), 0),
		terminal.Number(2*found.UsersDeviation, 0))
}

// sizes returns the windows that can be chosen: the given one, or all of at least leastWindow that
// divide both ends of the given range evenly. They depend on flags only, not on the data: a single
// record with a time of day must not change them.
func (f *demoFlags) sizes() (sizes []time.Duration) {
	if f.given("window") {
		return []time.Duration{f.Window}
	}
	from, to := f.millis()
	for _, size := range choice.Usual {
		if ms := size.Milliseconds(); size >= f.leastWindow() && from%ms == 0 && to%ms == 0 {
			sizes = append(sizes, size)
		}
	}
	if sizes == nil {
		sizes = []time.Duration{f.Window}
	}
	return sizes
}

// skips identifies a choice that leaves out records without a user, which the format does not show.
func (f *demoFlags) skips() string {
	if f.NoUser == demo.SkipNoUser {
		return f.NoUser
	}
	return ""
}

// addTo adds the source's events whose key counts.
func (j *job) addTo(e *choice.Events) error {
	read, due, keys := 0, everyTwoSeconds(), j.flags.PublicKeys
	return j.events(func(v *event.Event) error {
		if read++; read%(1<<16) == 0 && due() {
			j.progress.Note("%s read", terminal.Count(read, "event"))
		}
		if keys != nil && j.flags.keyField != "" && !slices.Contains(keys, string(v.Key)) {
			return nil
		}
		return e.Add(v.User, v.Key, v.Millis, v.Value)
	})
}

// events calls fn with every event of the source.
func (j *job) events(fn func(*event.Event) error) error {
	format := j.source.Traits().Format
	decoder, err := event.NewDecoder(format)
	if err != nil {
		return err
	}
	var e event.Event
	var namer event.Namer
	var position uint64
	return j.source.Each(func(m kafkalog.Message) error {
		position++
		err := decoder.Decode(m.Value, &e)
		var broken *event.Error
		switch {
		case errors.As(err, &broken):
			return nil
		case err != nil:
			return err
		}
		namer.Name(&e, &format, position)
		return fn(&e)
	})
}
