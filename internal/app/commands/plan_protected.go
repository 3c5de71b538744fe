package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/internal/app/eventfile"
	"github.com/tollgate-dp/tollgate/internal/app/plan/advice"
	"github.com/tollgate-dp/tollgate/internal/app/plan/protected"
	"github.com/tollgate-dp/tollgate/internal/app/plan/sample"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas/event"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// checkSpending refuses flags that do not go with a protected choice.
func (f *planFlags) checkSpending(changed func(string) bool) error {
	if !changed("spend-share") {
		switch {
		case f.noiseKeyFile != "":
			return errors.New("--noise-key-file is only used with --spend-share")
		case f.chooseAgain:
			return errors.New("--choose-again is only used with --spend-share")
		}
		return nil
	}
	switch {
	case !(f.spendShare > 0 && f.spendShare < 1):
		return &badValue{"spend-share", "above 0 and below 1: 0.05 spends 5 %"}
	case f.input == eventfile.Stdin:
		return errors.New("--spend-share needs a file: plan recognises an earlier choice by the name of its file. Write the standard input to a file first")
	case len(f.windows) != 1:
		return errors.New("--spend-share needs exactly one --window: a size chosen by looking at the data is not protected")
	case f.noiseKeyFile == "":
		return errors.New("--spend-share needs --noise-key-file: the noise key of the deployment that is planned; make one with: (umask 077; openssl rand -hex 32 > noise.key)")
	}
	f.planned = f.spendShare
	return readable("noise-key-file", f.noiseKeyFile)
}

// protected returns made-up events that are like those of the file, as far as every user has paid
// for. The payment is recorded before anything of it is known. It says nothing of the file.
func (f *planFlags) protected(ctx context.Context, keys []string) (*sample.Sample, error) {
	key, err := readNoiseKey(f.noiseKeyFile)
	if err != nil {
		return nil, err
	}
	d, err := f.compile(keys)(f.placed(advice.Setting{Window: f.windows[0], KeysPerUser: 1, EventsPerKey: 1, LastAtLeast: 1, Epsilon: f.epsilon, Relative: f.relative, DeltaKeys: f.deltaKeys}))
	if err != nil {
		return nil, err
	}
	path, err := filepath.Abs(f.input)
	if err != nil {
		return nil, fmt.Errorf("naming a choice of bounds: %w", err)
	}
	layout, err := json.Marshal(f.readAs(path))
	if err != nil {
		return nil, fmt.Errorf("naming a choice of bounds: %w", err)
	}
	o := protected.Options{Window: f.windows[0], Budget: d.Budget, PublicKeys: keys, Read: string(layout), Key: key, Values: f.kindOf().Values}
	o.From, o.To = f.millis()
	return f.choose(o, func(add func(*event.Event) error) error {
		_, err := f.read(ctx, add, func(uint64) {})
		return err
	})
}

// readAs names a file and how it is read. An earlier version had no usual layouts and took RFC 3339
// for the default, and its choices keep their names.
func (f *planFlags) readAs(path string) []any {
	unit := f.times.unit
	if unit == event.TimeText {
		unit = "rfc3339"
	}
	as := []any{path, f.inputFormat, f.header, f.columns, f.userField, f.keyField, f.timeField, unit}
	if f.times.layout != "" || f.times.zone != "" || f.noUser != "" {
		as = append(as, f.times.layout, f.times.zone)
	}
	if f.noUser != "" {
		as = append(as, f.noUser)
	}
	if f.valueField != "" {
		as = append(as, map[string]string{"value": f.valueField})
	}
	if f.decimals != 0 {
		as = append(as, map[string]int{"decimals": f.decimals})
	}
	if f.noValue == "skip" {
		as = append(as, "only with a value")
	}
	if f.comma {
		as = append(as, "decimal comma")
	}
	return as
}

// protectedTopic is protected for the events of a metric on a topic, before the deployment begins.
func (f *planFlags) protectedTopic(ctx context.Context, d *loaded, m *pipeline.Metric) (*sample.Sample, error) {
	if !(f.spendShare > 0 && f.spendShare < 1) {
		return nil, usage(&badValue{"spend-share", "above 0 and below 1: 0.05 spends 5 %"})
	}
	noise, _ := d.file.KeyFiles()
	switch {
	case noise == "":
		return nil, usage(errors.New("--spend-share needs a noise key in a file (keys.noise.file), beside which it records what is spent"))
	case slices.Contains(d.file.Missing, noise):
		return nil, contents(fmt.Errorf("there is no key in %s: make it with %s; init uses it then", noise, config.MakeKey(noise)))
	case len(f.windows) > 0:
		return nil, usage(errors.New("--spend-share with --config plans for the metric's own window: leave --window out"))
	}
	var begun *pipeline.InitialisedError
	if err := pipeline.Initialised(ctx, d.Deployment); err != nil && !errors.As(err, &begun) {
		return nil, err
	} else if err != nil {
		return nil, fmt.Errorf("planning with a share of the promise: %w: %w", protected.ErrBegun, err)
	}
	budget, err := d.Budget.Whole().Plan(f.spendShare)
	if err != nil {
		return nil, usage(fmt.Errorf("--spend-share: %w", err))
	}
	read, err := json.Marshal([]any{d.Config.Kafka.Brokers, d.Config.Events.Topic, d.Events, m.Name, m.Filter})
	if err != nil {
		return nil, fmt.Errorf("naming a choice of bounds: %w", err)
	}
	f.noiseKeyFile = noise
	o := protected.Options{Window: m.Window, Period: d.Config.Privacy.Period, Budget: budget, Read: string(read), Key: d.Config.Keys.Noise[len(d.Config.Keys.Noise)-1],
		Values: metrickind.Of(m.Kind).Values}
	if m.Keys.Mode == pipeline.KeysPublic {
		o.PublicKeys = m.Keys.List
	}
	o.From, o.To = f.millis()
	return f.choose(o, func(add func(*event.Event) error) error {
		_, err := f.lookAt(ctx, d, m, nil, add)
		return err
	})
}

// choose makes a choice of bounds, or shows the one that was made with the same arguments. It calls
// each, which reads the events, only if it needs them.
func (f *planFlags) choose(o protected.Options, each func(add func(*event.Event) error) error) (*sample.Sample, error) {
	if info, err := os.Stat(f.noiseKeyFile); err != nil || !info.Mode().IsRegular() {
		return nil, usage(fmt.Errorf("--spend-share needs a noise key in an ordinary file, beside which it records what is spent: %s is not one", f.noiseKeyFile))
	}
	c, err := protected.New(o)
	switch {
	case errors.Is(err, protected.ErrTooLittle):
		return nil, usage(fmt.Errorf("--spend-share: %w", err))
	case errors.Is(err, protected.ErrOpenRange):
		return nil, usage(fmt.Errorf("%w: give --from and --to", err))
	case err != nil:
		return nil, err
	}
	defer c.Close() //nolint:errcheck // what it sorted is gone
	r, err := protected.Choose(protected.RecordOf(f.noiseKeyFile), c, f.chooseAgain, func() error {
		return each(func(e *event.Event) error { return c.Add(e.User, e.Key, e.Millis, e.Value) })
	})
	if err != nil {
		return nil, err
	}
	f.chosenAt, f.planned = r.At, r.Planned
	n, deviation := r.Individuals()
	if !r.Suffices() {
		return nil, fmt.Errorf("planning with a share of %v: %s are too few to choose by: spend more, or choose bounds without looking at the data. The share is spent anyway (%s records it): set privacy.planned in the deployment",
			f.spendShare, about(n, deviation), protected.RecordOf(f.noiseKeyFile))
	}
	if o.Values {
		f.rangeMin, f.rangeMax = r.Range()
	}
	return r.Sample()
}

// protection returns what an operator must know of a protected answer. It is the same when a choice
// is shown again.
func (f *planFlags) protection() string {
	others := ""
	if f.planned != f.spendShare {
		others = fmt.Sprintf(", and %s with the other choices under this noise key", percent(f.planned))
	}
	return fmt.Sprintf("every user in these events has paid %s of the privacy budget for this%s, and %s records it. Set privacy.planned: %s in the deployment. What follows is as protected as what the deployment will release: its numbers are noisy and come from made-up events. Bounds were chosen at %s. With the same arguments, tollgate plan shows this choice again: it reads no events and costs nothing; --choose-again makes another choice and spends the same share once more",
		percent(f.spendShare), others, protected.RecordOf(f.noiseKeyFile), strconv.FormatFloat(f.planned, 'g', 9, 64), f.chosenAt.Format(time.RFC3339))
}
