package integration

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// usualWorkload returns the usual workload of these tests: some windows with broken, late, early
// and future records.
func usualWorkload(seed uint64) workload {
	return workload{Seed: seed, Users: 60, Pages: 8, Windows: pick(8, 12), Window: 10 * time.Second, Events: 120,
		Disturb: 4 * time.Second, Broken: 3, Late: 3, Past: 2, Future: 2}
}

// calm returns a workload whose records are all accepted, however they are dealt to partitions.
func calm(seed uint64) workload {
	return workload{Seed: seed, Users: 60, Pages: 8, Windows: pick(8, 12), Window: 10 * time.Second, Events: 120}
}

func sharded(shards, releaseShards int) settings {
	return func(c *pipeline.Config) { c.Shards, c.ReleaseShards = shards, releaseShards }
}

// tight gives users a budget for a few windows, so that the order of charges and reservations
// decides about admission, and noise so small that private keys pass their threshold and targets
// are met.
func tight(c *pipeline.Config) {
	for i := range c.Metrics {
		c.Metrics[i].Target.Relative, c.Metrics[i].Target.Absolute = 0.3, 2.4
	}
}

func TestInvariant5SameOutputForAllPartitionsAndShards(t *testing.T) {
	t.Parallel()
	broker := startBrokerProcess(t)
	type layout struct{ partitions, shards, releaseShards int }
	layouts := []layout{{1, 1, 1}, {8, 64, 4}}
	if long.On() {
		layouts = append(layouts, layout{8, 1, 1}, layout{2, 16, 2}, layout{2, 1, 4}, layout{1, 64, 1},
			layout{2, 64, 1}, layout{1, 1, 4})
		layouts = layouts[:onReal(t, 4, len(layouts))]
	}
	arrivals := calm(1).arrivals()
	var first *deployment
	for i, l := range layouts {
		d := newDeployment(t, broker, fmt.Sprintf("layout%d", i), l.partitions, sharded(l.shards, l.releaseShards),
			tight)
		d.load(scatter(arrivals, l.partitions, uint64(i)))
		d.finish()
		d.verify()
		if first == nil {
			first = d
		} else {
			sameReleases(t, first, d)
		}
	}
}

func TestInvariant6EveryRecordIsAccountedFor(t *testing.T) {
	t.Parallel()
	broker := startBrokerProcess(t)
	for _, partitions := range []int{8, 1, 2}[:pick(1, 3)] {
		d := newDeployment(t, broker, fmt.Sprintf("tallies%d", partitions), partitions)
		d.load(spread(usualWorkload(2).arrivals(), partitions))
		d.finish()
		d.verify()
	}
}

// The two topics arrive in random order: events are appended in small random batches while turns
// are being closed and settled. Every other time they wait, with a turn that has ended and is not
// yet to be closed, for the turn before it: a busy machine, too, then closes turns while events of
// theirs are missing, if it closes them too early.
func TestInvariant5EventsArriveWhileTurnsSettle(t *testing.T) {
	broker := startBroker(t)
	for seed := range uint64(pick(1, onReal(t, 3, 5))) {
		d := newDeployment(t, broker, fmt.Sprintf("live%d", seed), 4, tight)
		random := rand.New(runseed.PCG(t, seed, 9))
		w := calm(10 + seed)
		w.Disturb = 4 * time.Second // within the lateness: a run that closes a turn too early loses some
		dealt := scatter(w.arrivals(), 4, seed)
		turns, _ := slices.BinarySearch(d.referenceConfig().TurnEnds(1000), base.Add(12*10*time.Second).UnixMilli()+1)
		for p := range dealt { // one record after all others closes the last windows
			dealt[p] = append(dealt[p], at("closer", "p00", 130*time.Second))
		}
		drain := make(chan struct{})
		var once sync.Once
		var feeding sync.WaitGroup
		var settled atomic.Int64
		batch, begun := 40, time.Now()
		if seed%2 == 0 {
			batch = 10
		}
		last := make([]int64, len(dealt)) // stamps
		feeding.Go(func() {
			for left := true; left; {
				left = false
				for p := range dealt {
					n := min(len(dealt[p]), random.IntN(batch))
					d.append(int32(p), dealt[p][:n])
					if n > 0 {
						last[p] = dealt[p][n-1].stamp
					}
					dealt[p] = dealt[p][n:]
					left = left || len(dealt[p]) > 0
				}
				time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond) // events come at any pace
				ended := (slices.Min(last) - base.UnixMilli() - 1000) / 10_000
				for left && seed%2 == 0 && settled.Load() < ended-1 && time.Since(begun) < patience {
					time.Sleep(time.Millisecond)
				}
			}
		})
		d.run(func(o *runOptions) {
			o.Bounded, o.Drain = false, drain
			o.OnSettled = func(s pipeline.Settlement) {
				settled.Store(int64(s.Turn))
				if s.Turn >= uint64(turns) {
					once.Do(func() { close(drain) })
				}
			}
		})
		feeding.Wait()
		d.verify()
	}
}

func TestInvariant2AFinishedDeploymentPublishesNothingNew(t *testing.T) {
	d := newDeployment(t, startBroker(t), "again", 2)
	d.load(scatter(calm(5).arrivals(), 2, 1))
	first := d.run()
	second := d.run()
	if first.Settled != second.Settled {
		t.Errorf("the first run settled %d turns, the second stands at %d", first.Settled, second.Settled)
	}
	d.verify()
}

// Whatever only reads leaves every topic as it is, also that of the events and that of dead
// letters.
func TestInvariant7ReadingChangesNothing(t *testing.T) {
	d := newDeployment(t, startBroker(t), "reading", 1)
	d.load(scatter(calm(6).arrivals(), 1, 1))
	settled := d.run().Settled
	for what, read := range map[string]func(context.Context) error{
		// counts, control, ledger and the trusted report
		"comparing with the reference": func(context.Context) error { return d.check() },
		"ReadReleases": func(ctx context.Context) error {
			_, err := pipeline.ReadReleases(ctx, d.compiled)
			return err
		},
		"FollowReleases": func(ctx context.Context) error {
			ctx, stop := context.WithCancel(ctx)
			defer stop()
			return pipeline.FollowReleases(ctx, d.compiled, pipeline.FollowOptions{From: &pipeline.Position{}},
				func(p pipeline.Published) error {
					if p.Turn == settled {
						stop()
					}
					return nil
				})
		},
		"ReadStatus": func(ctx context.Context) error {
			_, err := pipeline.ReadStatus(ctx, d.compiled, time.Now())
			return err
		},
		"ScanEvents": func(ctx context.Context) error {
			_, err := pipeline.ScanEvents(ctx, d.compiled, pipeline.ScanOptions{}, func(*event.Event) error {
				return nil
			})
			return err
		},
		"CheckTopics": func(ctx context.Context) error {
			return pipeline.CheckTopics(ctx, d.compiled, pipeline.CheckOptions{Start: true})
		},
		"CountedFrom": func(ctx context.Context) error {
			_, err := pipeline.CountedFrom(ctx, d.compiled)
			return err
		},
		"a dry run of Change": func(ctx context.Context) error {
			next := d.config
			next.Time.Lateness += time.Second
			compiled, err := pipeline.Compile(next)
			if err == nil {
				_, err = pipeline.Change(ctx, compiled, pipeline.ChangeOptions{DryRun: true})
			}
			return err
		},
	} {
		before := d.everything()
		if err := read(t.Context()); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if after := d.everything(); after != before {
			t.Errorf("%s: offsets were %s before and are %s after", what, before, after)
		}
	}
}

// everything names the ends of all topics.
func (d *deployment) everything() string {
	out := d.compiled.Config.Outputs
	return d.ownedEnds() + d.ends(out.Control, 1) + d.ends(out.DeadLetter, 1) + d.ends(out.Turns, 1) +
		d.ends(d.config.Events.Topic, d.partitions)
}

// ownedEnds names the ends of the topics whose partitions have one writer at a time.
func (d *deployment) ownedEnds() string {
	return d.ends(d.config.Outputs.Counts, d.config.ReleaseShards) + d.ends(d.config.Outputs.Ledger, d.config.Shards)
}

// ends names the ends of a topic's partitions.
func (d *deployment) ends(topic string, partitions int) string {
	d.t.Helper()
	var ends []int64
	for p := range int32(partitions) {
		offsets := must.Have(d.client.Offsets(d.t.Context(), topic, p))
		ends = append(ends, offsets.High)
	}
	return fmt.Sprint(ends)
}

// pick chooses by tier.
func pick(short, full int) int {
	if !long.On() {
		return short
	}
	return full
}
