package commands

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/demo"
	"github.com/tollgate-dp/tollgate/internal/app/plan/advice"
	"github.com/tollgate-dp/tollgate/internal/app/plan/forecast"
	"github.com/tollgate-dp/tollgate/internal/app/plan/protected"
	"github.com/tollgate-dp/tollgate/internal/app/plan/sample"
	html "github.com/tollgate-dp/tollgate/internal/app/report"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/internal/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas/event"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// choiceShare is the part of the promise that a demo spends on choosing bounds.
const choiceShare = 0.05

// compile makes deployments of the settings that are tried.
func (f *demoFlags) compile(keys []string) func(advice.Setting) (*pipeline.Deployment, error) {
	return func(s advice.Setting) (*pipeline.Deployment, error) {
		tried := *f
		tried.window, tried.epsilon, tried.relative, tried.deltaKeys = s.Window, s.Epsilon, s.Relative, s.DeltaKeys
		tried.maxKeysPerUser, tried.maxEventsPerKey, tried.lastAtLeast = s.KeysPerUser, s.EventsPerKey, s.LastAtLeast
		tried.apply(s)
		if s.Together {
			_, d, err := tried.settings([]string{""})
			return d, err
		}
		_, d, err := tried.settings(keys)
		return d, err
	}
}

// chooseBounds chooses those bounds of a file that were not given, and its window, by noisy tables
// of what its users do and by noisy trials of settings: the choice is a part of what is promised.
// Where these show too few users the defaults stay, which do not depend on the data. The key must
// belong to this run only.
func (j *job) chooseBounds(ctx context.Context, key noisereduction.NoiseKey) error {
	f := j.flags
	if !f.chooses {
		return nil
	}
	f.planned = choiceShare
	keys := j.settings.PublicKeys
	compile := f.compile(keys)
	setting, tries := f.current(), f.countsEvents() && !f.openValues
	if tries && !f.given("relative") && !f.given("absolute") {
		setting.Relative, setting.Absolute = 0, 0 // an unasked-for target doubles the threshold of private keys
	}
	d, err := compile(setting)
	if err != nil && f.openValues {
		return f.noRange("choosing the range of values: the promise is too small for it")
	}
	if err != nil {
		f.planned = 0 // nothing can be spent of such a promise
		return nil    //nolint:nilerr // without a choice the settings are as they were
	}
	format := j.source.Traits().Format
	named, err := json.Marshal(format)
	if err != nil {
		return fmt.Errorf("naming a choice of bounds: %w", err)
	}
	sizes := f.sizes()
	o := protected.Options{Window: f.window, Budget: d.Budget, PublicKeys: keys, Read: string(named) + f.skips(), Key: key, Values: f.openValues}
	if tries {
		o.Window = sizes[0]
	}
	o.From, o.To = f.millis() // not the range of the data: one record can change that
	c, err := protected.New(o)
	if err != nil {
		return f.explainChoice(err)
	}
	defer c.Close() //nolint:errcheck // what it sorted is gone
	j.progress.Note("choosing windows and bounds")
	read, now := 0, often()
	if err := j.events(func(e *event.Event) error {
		if read++; read%(1<<16) == 0 && now() {
			j.progress.Note("%s read", terminal.Count(read, "event"))
		}
		return c.Add(e.User, e.Key, e.Millis, e.Value)
	}); err != nil {
		return err
	}
	// The key serves this choice only. HEADER states its cost before any count is released.
	choose := j.search
	if !tries {
		choose = j.chooseByTables
	}
	if err := choose(ctx, c, setting, compile); err != nil {
		return f.explainChoice(err)
	}
	if j.settings, j.deployment, err = f.settings(keys); err != nil {
		return err
	}
	if j.page != nil {
		j.page.values = html.NewCollector(j.deployment)
	}
	return nil
}

// explainChoice says what to do if the promise cannot pay for a choice.
func (f *demoFlags) explainChoice(err error) error {
	switch {
	case !errors.Is(err, protected.ErrTooLittle):
		return err
	case f.openValues:
		return f.noRange("choosing the range of values: the promise is too small for it")
	}
	return usage(fmt.Errorf("choosing windows and bounds: %s of the promise is too little for it: raise --epsilon, or give --max-keys-per-user, --max-events-per-key and --last-at-least", percent(choiceShare)))
}

// noRange says that no range of values can be chosen, and why, with the command that gives one.
func (f *demoFlags) noRange(why string) error {
	text := why + ": give --min and --max"
	if f.flags != nil {
		hundred := strconv.FormatFloat(100*math.Pow10(f.decimals), 'f', 0, 64)
		if f.decimals > 0 {
			text += fmt.Sprintf(" in units of %s", terminal.Number(1/math.Pow10(f.decimals), f.decimals))
		}
		text += ", which you know without looking at the file, for example for values from 0 to 100\n" +
			folded(rerun(f.flags, map[string]string{"min": "0", "max": hundred}, "repeat"), "  ")
	}
	return usage(errors.New(text))
}

// countsEvents says that a trial, which counts each event as one, counts what the metric does, or
// the events whose values the metric is of.
func (f *demoFlags) countsEvents() bool {
	kind := f.kindOf()
	if kind.Values {
		return true
	}
	_, n := kind.Contribution(2, metrickind.Bounds{Events: 2})
	return n == 2
}

// search chooses by trials of settings, which are of events.
func (j *job) search(_ context.Context, c *protected.Choice, setting advice.Setting, compile func(advice.Setting) (*pipeline.Deployment, error)) error {
	f := j.flags
	given := f.givenSetting()
	found, err := c.Search(protected.Search{
		Sizes: f.sizes(), Given: protected.Bounds{Keys: given.KeysPerUser, Events: given.EventsPerKey, Last: given.LastAtLeast},
		Sigma: func(b protected.Bounds) (float64, bool) {
			s := setting
			s.Window, s.KeysPerUser, s.EventsPerKey, s.LastAtLeast = b.Window, b.Keys, b.Events, b.Last
			d, err := compile(s)
			if err != nil {
				return 0, false
			}
			const usual = 6 // deviations to the threshold of private keys; it is higher with a target
			sigma := max(1/math.Sqrt(d.Metrics[0].Spec.Top.Float()), d.Metrics[0].Plan.Threshold()/usual)
			if kind := f.kindOf(); kind.Sums() { // in events of half the largest value
				sigma *= 2 / float64(max(f.max, -f.min, 1))
			} else if kind.Values { // of a mean a quarter of the range from its end, with both noises
				sigma *= 2.25
			}
			return sigma, true
		},
		Progress: tries(j.progress),
	})
	if err != nil {
		return err
	}
	j.chosen = f.chosen(found)
	if found.Window != 0 {
		f.maxKeysPerUser, f.maxEventsPerKey, f.lastAtLeast = found.Keys, found.Bounds.Events, found.Last
		f.relative, f.absolute = setting.Relative, setting.Absolute
		j.resize(found.Window)
	}
	return nil
}

// chooseByTables chooses for users, and where the range of values is open: by events that are made
// up from noisy tables.
func (j *job) chooseByTables(ctx context.Context, c *protected.Choice, _ advice.Setting, _ func(advice.Setting) (*pipeline.Deployment, error)) error {
	f := j.flags
	r, err := c.Release()
	if err != nil {
		return err
	}
	n, deviation := r.Individuals()
	if !r.Suffices() && f.openValues && f.repeat.RunID != (demo.RunID{}) {
		return f.otherRun() // a run with too few users has no name, and this number is not paid for
	}
	if !r.Suffices() && f.openValues {
		return f.noRange(fmt.Sprintf("choosing the range of values: %s are too few for it", about(n, deviation)))
	}
	if !r.Suffices() {
		j.chosen = f.chosen(&protected.Found{Users: n, UsersDeviation: deviation})
		return nil
	}
	made, err := r.Sample()
	if err != nil {
		return err
	}
	q, also := f.question(made, f.windowSizes(), j.settings.PublicKeys), "--relative"
	if f.kindOf().Tree != nil {
		also = "--absolute"
	}
	if f.openValues && !f.kindOf().Sums() {
		q.Given.Min, q.Given.Max = r.Range()
	}
	q.Progress = tries(j.progress)
	answer, err := advice.Answer(ctx, q)
	if err != nil {
		return fmt.Errorf("choosing bounds: %w", err)
	}
	best := answer.Block.Point.Setting
	f.maxKeysPerUser, f.maxEventsPerKey, f.lastAtLeast, f.relative = best.KeysPerUser, best.EventsPerKey, best.LastAtLeast, best.Relative
	if f.apply(best); f.openValues {
		also += ", --min, --max"
	}
	j.resize(best.Window)
	j.chosen = fmt.Sprintf("chosen by noisy tables of what about %s users do, which took %s of the budget; the end says how far values are from the real ones; to change it: --window, --max-keys-per-user, --max-events-per-key, --last-at-least, %s; tollgate plan says what each would give", terminal.Number(n, 0), percent(choiceShare), also)
	return nil
}

// resize changes the size of windows to one that was chosen.
func (j *job) resize(size time.Duration) {
	if file, ok := j.source.(*demo.File); ok && size != j.flags.window {
		j.flags.window = size
		file.SetWindow(size)
	}
}

// chosen says how bounds were chosen: by nothing but protected numbers.
func (f *demoFlags) chosen(found *protected.Found) string {
	spent := percent(choiceShare)
	if found.Window == 0 {
		return fmt.Sprintf("the defaults, because %s are too few to choose by; finding this out took %s of the budget; to avoid that, give all three bounds", about(found.Users, found.UsersDeviation), spent)
	}
	text := fmt.Sprintf("chosen by noisy tables of what about %s users do and by noisy trials, which took %s of the budget", terminal.Number(found.Users, 0), spent)
	if found.Hopeless() {
		shown := max(0, found.Shown+2*found.ShownDeviation) / found.Events
		text += fmt.Sprintf("; the trials found little of use at ε = %v (at best about %s of the events are in counts above the noise), but they are rough", f.epsilon, percent(min(1, shown)))
	}
	return text + "; the end says how far values are from the real ones; to change it: --window, --max-keys-per-user, --max-events-per-key, --last-at-least; tollgate plan says what each would give"
}

// about writes a noisy number of users, with two standard deviations.
func about(users, deviation float64) string {
	return fmt.Sprintf("about %s ± %s users", terminal.Number(max(0, users), 0), terminal.Number(2*deviation, 0))
}

// sizes are the windows that can be chosen: those that were given, or all that begin where the
// given range begins and ends. They must not depend on the data. Where --time-layout has no hour,
// none is below a day: the layout is public, because the user states it and demo never takes it
// from the records. (Without the flag each record may have another layout; a single one with an
// hour would change the sizes.)
func (f *demoFlags) sizes() (sizes []time.Duration) {
	if sizes = f.windowSizes(); sizes != nil {
		return sizes
	}
	from, to := f.millis()
	for _, size := range advice.Usual {
		if ms := size.Milliseconds(); size >= f.leastWindow() && from%ms == 0 && to%ms == 0 {
			sizes = append(sizes, size)
		}
	}
	if sizes == nil {
		sizes = []time.Duration{f.window}
	}
	return sizes
}

// skips names a choice in which records without a user are left out: a format does not say so.
func (f *demoFlags) skips() string {
	if f.noUser == demo.SkipNoUser {
		return f.noUser
	}
	return ""
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

// linesOf cuts a text into lines of a width.
func linesOf(text string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len([]rune(line))+1+len([]rune(word)) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// windowSizes returns the size that was given; nil where one is to be chosen.
func (f *demoFlags) windowSizes() []time.Duration {
	if f.given("window") {
		return []time.Duration{f.window}
	}
	return nil
}

// givenSetting has what was given of a setting, zero for what was not.
func (f *demoFlags) givenSetting() advice.Setting {
	s := advice.Setting{Epsilon: f.epsilon, Relative: f.relative, Absolute: f.absolute, Min: f.min, Max: f.max}
	if f.openValues {
		s.Min, s.Max = 0, 0
	}
	for name, bound := range map[string]struct{ to, from *int }{
		"max-keys-per-user": {&s.KeysPerUser, &f.maxKeysPerUser}, "max-events-per-key": {&s.EventsPerKey, &f.maxEventsPerKey}, "last-at-least": {&s.LastAtLeast, &f.lastAtLeast},
	} {
		if f.given(name) {
			*bound.to = *bound.from
		}
	}
	if f.given("delta-keys") {
		s.DeltaKeys = f.deltaKeys
	}
	return s
}

// question asks for the best setting: what was given is kept. plan and the end of a demo ask the
// same of the same file.
func (f *demoFlags) question(s *sample.Sample, sizes []time.Duration, keys []string) advice.Question {
	q := advice.Question{Sample: s, Sizes: sizes, Terms: f.terms(keys), Compile: f.compile(keys), Given: f.givenSetting()}
	if f.given("relative") || f.given("absolute") {
		q.KeepTarget, q.Useful = true, f.relative
	}
	if f.planned > 0 && keys == nil { // what was spent is a share of the budget that follows from it
		q.Given.DeltaKeys = cmp.Or(f.deltaKeys, f.delta/10)
	}
	return q
}

// closeEnough is the typical error up to which no advice is looked for.
const closeEnough = 0.1

// worthwhile is by which part an advice must lessen the typical error to be told, unless it makes
// values useful that are not.
const worthwhile = 0.2

// helps reports whether a setting is worth an advice, by its forecast, the forecast of this run's
// setting, and the error that came out.
func helps(best, now, came float64) bool {
	return best < (1-worthwhile)*now || best < now && best <= advice.Useful && came > advice.Useful
}

// comparison is how far the released values are from the real counts, beside a forecast.
type comparison struct {
	question advice.Question // of what would be better
	now      *advice.Point   // what the settings were forecast to give
	measured advice.Point    // with the typical error of the values that were released
	cells    int             // that hold half of the events
	spread   spread
}

// compare looks at the source once more; nil where it has nothing that can be counted, and of a run
// that a signal has ended.
func (j *job) compare(ctx context.Context, result demo.Result, shown map[cell]float64) (*comparison, error) {
	if result.Drained {
		return nil, nil //nolint:nilnil // there is nothing to compare
	}
	f := j.flags
	o := sample.Options{Step: f.window, Values: f.kindOf().Values}
	if !f.given("window") && f.window%advice.Usual[0] == 0 {
		o.Step = advice.Usual[0]
	}
	o.From, o.To = f.millis()
	c, real, size := sample.NewCollector(o), forecast.NewTally[cell](f.kindOf()), f.window.Milliseconds()
	from, to := j.source.Range()
	values := j.newSpread()
	if err := j.events(func(e *event.Event) error {
		if e.Millis < from.UnixMilli() || e.Millis >= to.UnixMilli() {
			return nil
		}
		values.add(e.Value)
		c.AddN(e.User, e.Key, e.Millis, e.Value, 1)
		if keys := j.settings.PublicKeys; keys == nil || slices.Contains(keys, string(e.Key)) {
			real.Add(cell{e.Millis - e.Millis%size, string(e.Key)}, string(e.User), e.Value)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	s := c.Sample()
	if s.Events == 0 || s.Kept == 0 || real.Len() == 0 {
		return nil, nil //nolint:nilnil // there is nothing to compare
	}
	ran := f.question(s, f.windowSizes(), j.settings.PublicKeys)
	now, err := ran.Forecast(ctx, f.current())
	if err != nil {
		return nil, err
	}
	pasted := *f
	pasted.planned = 0 // the command of an advice gives all bounds and pays for no choice
	out := &comparison{question: pasted.question(s, f.windowSizes(), j.settings.PublicKeys), now: now, measured: *now, spread: values}
	out.measured.Typical, out.cells = forecast.TypicalError(real.Real(), shown)
	out.measured.Shown, out.measured.Beside = float64(len(shown)), nil // compareStatistics measures those
	return out, nil
}

// text says how far the released values are from the real ones, and what error was forecast. among
// says of which values the error is the median; "" leaves that out.
func (c *comparison) text(f *demoFlags, among string) string {
	return c.measured.ComparedText(c.now, f.ofValues()+among)
}

// ofValues names the field whose mean, variance and so on a text is about; "" for counts.
func (f *demoFlags) ofValues() string {
	if kind := f.kindOf(); kind.Values && kind.Tree == nil {
		if f.badValues > 0 {
			return " of " + f.valueField + " where it can be read"
		}
		return " of " + f.valueField
	}
	return ""
}

// sayCompared says to the holder of a file how far the released values are from the real ones.
func (j *job) sayCompared(c *comparison) {
	f, now := j.flags, c.now
	if c.measured.Typical > advice.Useful {
		few := ""
		if j.settings.Private() && 2*now.Shown < now.Counts && now.ShownTruth < 0.5 {
			few = fmt.Sprintf("only %s of %s (a key in a window) can be expected to come out: ", terminal.Number(now.Shown, 0), terminal.Count(int(now.Counts), "count"))
		}
		j.progress.Note("why: %s%s", few, now.Cause())
	}
	if f.input == "" {
		return
	}
	if text := c.spread.text(f); text != "" {
		j.progress.Note("warning: %s", text)
	}
	j.progress.Note("compared with the file: %s", c.text(f, " ("+medianOf(c.cells, f.kindOf().One())+")"))
}

// advise says to the holder of a file the whole commands that would help most.
func (j *job) advise(ctx context.Context, c *comparison) error {
	f, now, typical := j.flags, c.now, c.measured.Typical
	if f.input == "" {
		return nil // made-up events need no advice
	}
	far := now.Far()
	for _, b := range far {
		j.progress.Note("warning: the %s beside the %s is forecast to be off by %s", b.Label(), f.kindOf().Texts.Label, b.ErrorText())
	}
	if typical <= closeEnough && far == nil {
		return nil
	}
	question := c.question
	if far != nil { // only other bounds can change their errors much
		question.Given.KeysPerUser, question.Given.EventsPerKey, question.Given.LastAtLeast = 0, 0, 0
	}
	answer, err := advice.Answer(ctx, question)
	if err != nil {
		return err
	}
	if answer.Nothing != "" {
		j.progress.Note("nothing of use can be shown %s", answer.Nothing)
	}
	if best := &answer.Block.Point; best.Shown >= 0.5 && (helps(best.Typical, now.Typical, typical) || far != nil && helps(best.Worst(), now.Worst(), now.Worst())) {
		j.progress.Note("what would help most (chosen by looking at the file): %s, with\n%s", best.TypicalText(), folded(answer.Block.Demo, "  "))
	}
	if answer.Need != nil {
		for _, c := range answer.Need.Changes {
			j.progress.Note("%s: %s, with\n%s", c.What, c.Point.TypicalText(), folded(c.Demo, "  "))
		}
		if len(answer.Need.Changes) == 0 {
			j.progress.Note("none of the settings that were tried (larger windows, other bounds, ε up to 20) brings values typically within %s of %s", percent(answer.Need.Within), answer.Need.Of)
		}
	}
	return nil
}

// cell is a key in a window.
type cell struct {
	start int64 // Unix milliseconds
	key   string
}
