package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/app/plan/advice"
	"github.com/tollgate-dp/tollgate/internal/app/plan/protected"
	"github.com/tollgate-dp/tollgate/internal/app/plan/sample"
	html "github.com/tollgate-dp/tollgate/internal/app/report"
	"github.com/tollgate-dp/tollgate/internal/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas/event"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// choiceShare is the part of the promise that a demo spends on choosing bounds.
const choiceShare = 0.05

// compile makes deployments of the settings that are tried.
func (f *demoFlags) compile(keys []string) func(advice.Setting) (*pipeline.Deployment, error) {
	return func(s advice.Setting) (*pipeline.Deployment, error) {
		tried := *f
		tried.window, tried.epsilon, tried.relative = s.Window, s.Epsilon, s.Relative
		tried.maxKeysPerUser, tried.maxEventsPerKey, tried.lastAtLeast = s.KeysPerUser, s.EventsPerKey, s.LastAtLeast
		if s.Together {
			_, d, err := tried.settings([]string{""})
			return d, err
		}
		_, d, err := tried.settings(keys)
		return d, err
	}
}

// chooseBounds chooses the bounds of a file for which none was given, by noisy tables of what its
// users do: the choice is a part of what is promised. Where these show too few users the defaults
// stay, which do not depend on the data. The key must belong to this run only.
func (j *job) chooseBounds(ctx context.Context, key noisereduction.NoiseKey) error {
	f := j.flags
	if from, _ := j.source.Range(); !f.chooses || from.IsZero() {
		return nil
	}
	f.planned = choiceShare
	keys := j.settings.PublicKeys
	compile := f.compile(keys)
	setting := advice.Setting{Window: f.window, KeysPerUser: f.maxKeysPerUser, EventsPerKey: f.maxEventsPerKey, LastAtLeast: f.lastAtLeast, Epsilon: f.epsilon, Relative: f.relative}
	d, err := compile(setting)
	if err != nil {
		f.planned = 0 // a promise of which nothing can be taken
		return nil    //nolint:nilerr // without a choice the settings are as they were
	}
	format := j.source.Traits().Format
	read, err := json.Marshal(format)
	if err != nil {
		return fmt.Errorf("naming a choice of bounds: %w", err)
	}
	o := protected.Options{Window: f.window, Budget: d.Budget, PublicKeys: keys, Read: string(read), Key: key}
	o.From, o.To = f.millis() // not the range of the data: one record can change that
	c, err := protected.New(o)
	if errors.Is(err, protected.ErrTooLittle) {
		f.planned = 0
		return nil
	}
	if err != nil {
		return err
	}
	defer c.Close() //nolint:errcheck // what it sorted is gone
	if err := j.events(func(e *event.Event) error { return c.Add(e.User, e.Key, e.Millis, 0) }); err != nil {
		return err
	}
	// The key serves this choice only. HEADER states its cost before any count is released.
	r, err := c.Release(protected.Nonce{})
	if err != nil {
		return err
	}
	n, deviation := r.Individuals()
	if !r.Suffices() {
		j.chosen = fmt.Sprintf("the defaults, which look at nothing: about %.0f ± %.0f users are too few to choose by; finding that out took %s of the budget; any bound that you give ends this", max(0, n), 2*deviation, percent(choiceShare))
	} else {
		made, err := r.Sample()
		if err != nil {
			return err
		}
		answer, err := advice.Answer(ctx, advice.Question{Sample: made, Sizes: durationList{f.window}, Terms: f.terms(keys, ""), Given: advice.Setting{Epsilon: f.epsilon}, Compile: compile})
		if err != nil {
			return fmt.Errorf("choosing bounds: %w", err)
		}
		best := answer.Blocks[0].Point.Setting
		f.maxKeysPerUser, f.maxEventsPerKey, f.lastAtLeast = best.KeysPerUser, best.EventsPerKey, best.LastAtLeast
		j.chosen = fmt.Sprintf("chosen by noisy tables of what about %.0f users do, which took %s of the budget; to change it: --max-keys-per-user, --max-events-per-key, --last-at-least; tollgate plan says what each would give", n, percent(choiceShare))
	}
	if j.settings, j.deployment, err = f.settings(keys); err != nil {
		return err
	}
	if j.page != nil {
		j.page.values = html.NewCollector(j.deployment)
	}
	return nil
}

// events calls fn with every event of the source.
func (j *job) events(fn func(*event.Event) error) error {
	decoder, err := event.NewDecoder(j.source.Traits().Format)
	if err != nil {
		return err
	}
	var e event.Event
	return j.source.Each(func(m kafkalog.Message) error {
		err := decoder.Decode(m.Value, &e)
		var broken *event.Error
		switch {
		case errors.As(err, &broken):
			return nil
		case err != nil:
			return err
		}
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

// tellImprovement tells the holder of a file which one change of the settings would help most. It
// looks at the file once more.
func (j *job) tellImprovement(ctx context.Context, empty bool) error {
	f := j.flags
	if f.input == "" || empty {
		return nil
	}
	from, to := j.source.Range()
	c := sample.NewCollector(sample.Options{Step: f.window, From: from.UnixMilli(), To: to.UnixMilli()})
	if err := j.events(func(e *event.Event) error { c.Add(e.User, e.Key, e.Millis); return nil }); err != nil {
		return err
	}
	s := c.Sample()
	if s.Events == 0 {
		return nil
	}
	now := advice.Setting{Window: f.window, KeysPerUser: f.maxKeysPerUser, EventsPerKey: f.maxEventsPerKey, LastAtLeast: f.lastAtLeast, Epsilon: f.epsilon, Relative: f.relative}
	best, err := advice.Improve(ctx, advice.Question{Sample: s, Terms: f.terms(j.settings.PublicKeys, ""), Compile: f.compile(j.settings.PublicKeys)}, now)
	if err != nil || best == nil {
		return err
	}
	j.progress.Note("what would help most (chosen by looking at the file): %s: %s of the events in what comes out, now %s; error %s, now %s", best.What,
		percent(best.New.ShownTruth), percent(best.Now.ShownTruth), percent(best.New.Relative), percent(best.Now.Relative))
	return nil
}
