package pipeline

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/secret"
)

// Whenever another user-hash key is accepted, every window counts as many events of the users as
// after the same change without it: nobody has a second budget in a period. If it is refused, it is
// accepted at the time that the refusal names.
func TestRuleAnotherUserHashKeyGivesNobodyASecondBudget(t *testing.T) {
	t.Parallel()
	trials, refused := 5, 0
	if long.On() {
		trials = 40
	}
	random := rand.New(runseed.PCG(t, 43, 6))
	for range trials {
		if rotate(t, random) {
			refused++
		}
	}
	if refused == 0 && trials > 5 {
		t.Error("no key was refused")
	}
}

var namedTime = regexp.MustCompile(`--until (\S+),`)

// rotate changes the key of a random deployment after a random turn. It reports whether that was
// refused at first.
func rotate(t *testing.T, random *rand.Rand) (refused bool) {
	t.Helper()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	const seconds = 30
	second := func(n int) time.Time { return start.Add(time.Duration(n) * time.Second) }
	var events []kafkalog.Message
	for t := start; t.Before(second(seconds)); t = t.Add(100 * time.Millisecond) {
		events = append(events, eventOf(fmt.Sprint("u", random.IntN(3)), t))
	}
	cfg := deploytest.Config("localhost:1")
	m := &cfg.Metrics[0]
	m.Window, m.Slide = time.Duration(1+random.IntN(2))*time.Second, time.Second
	m.Keys.List, m.MaxKeysPerUser, m.Target.Relative, m.Burst = []string{"a"}, 1, 0, 1 // all windows cost the same
	other := *m
	other.Name, other.Slide = "other", m.Window
	cfg.Metrics = append(cfg.Metrics, other)
	cfg.Privacy.Period, cfg.Privacy.Lasts = time.Duration(3+random.IntN(4))*time.Second, 0
	deploytest.PayFor(t, &cfg, 1)
	cfg.Metrics[1].Target = cfg.Metrics[0].Target
	end, turns := second(1+random.IntN(12)), [2][]string{}
	for i, key := range []byte{9, 2} { // another key, and its own
		cfg.Kafka.Brokers = []string{deploytest.Start(t).Addr()}
		d := deploy(t, cfg, start, 1)
		appendEvents(t, cfg.Kafka.Brokers[0], events...)
		next := cfg
		next.Keys.UserHash, next.Outputs.Ledger = secret.New([32]byte{key}), "ledger-2"
		after := mustCompile(t, next)
		until := func(d *deployment.Deployment, end time.Time) {
			must.Have(Run(t.Context(), d, RunOptions{Until: end}))
		}
		until(d, end)
		change := func() error {
			err := CreateTopics(t.Context(), after, TopicOptions{Replication: 1})
			if err != nil && !errors.Is(err, kafkalog.ErrTopicExists) {
				t.Fatal(err)
			}
			_, err = Change(t.Context(), after, ChangeOptions{Now: true})
			return err
		}
		err := change()
		if errors.Is(err, ErrOpenPeriod) {
			refused = true
			end = must.Have(time.Parse(time.RFC3339, namedTime.FindStringSubmatch(err.Error())[1]))
			until(d, end)
			err = change()
		}
		must.Succeed(t, err)
		until(after, second(seconds-3))
		eachRecord(t, after, after.Config.Outputs.Control, 0, func(r kafkalog.Record) {
			if s, is := must.Have(schemas.DecodeControl(r.Value)).Body.(*schemas.Settled); is {
				turns[i] = append(turns[i], fmt.Sprint(s.Turn, s.Tallies))
			}
		})
	}
	if diff := cmp.Diff(turns[1], turns[0]); diff != "" {
		t.Errorf("windows of %v, periods of %v, another key after %v (-same key, +another):\n%s", m.Window,
			cfg.Privacy.Period, end.Sub(start), diff)
	}
	if !slices.ContainsFunc(turns[0], func(turn string) bool {
		return regexp.MustCompile(` [1-9]\d* \d+}`).MatchString(turn)
	}) {
		t.Errorf("no event is beyond an allowance: %s", turns[0])
	}
	return refused
}

// The old ledger cannot be read without its key. So control alone must show that a turn may be
// published in part, or that a user was forgotten, and another key is refused.
func TestRuleAnotherUserHashKeyPassesOverNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		died   int // the turn that is published and not settled; 0: none
		forget bool
		want   error
	}{
		"nothing":                  {0, false, nil},
		"a turn that is under way": {5, false, ErrInterruptedTurn},
		"a user who was forgotten": {0, true, ErrHeaderMismatch},
	} {
		d, next := bounded(t, func(c *deployment.Config) {
			c.Privacy.Period, c.Privacy.Lasts = 2*time.Second, 0
		})
		if c.died > 0 {
			diesBeforeSettling(t, d, c.died)
		} else {
			end := 4
			if c.forget { // within a period, which another time would end
				end = 3
			}
			must.Have(Run(t.Context(), d, RunOptions{Until: time.Date(2026, 1, 1, 0, 0, end, 0, time.UTC)}))
		}
		if c.forget {
			control, _, err := openControl(t.Context(), d, dial(t, d), slog.New(slog.DiscardHandler))
			must.Succeed(t, err)
			w := must.Have(controllog.NewWriter(t.Context(), control))
			must.Have(w.Append(t.Context(), &schemas.Forget{Turn: 4}))
			w.Close()
		}
		next.Keys.UserHash, next.Outputs.Ledger = secret.New([32]byte{9}), "ledger-2"
		after := mustCompile(t, next)
		if err := CreateTopics(t.Context(), after, TopicOptions{}); !errors.Is(err, kafkalog.ErrTopicExists) {
			t.Fatal(err)
		}
		if _, err := Change(t.Context(), after, ChangeOptions{}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}
