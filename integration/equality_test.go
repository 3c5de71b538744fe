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

// usualWorkload returns some windows with broken, late, early and future records.
func usualWorkload(seed uint64) workload {
	return workload{Seed: seed, Users: 60, Pages: 8, Windows: pick(8, 12), Window: 10 * time.Second, Events: 120,
		Disturb: 4 * time.Second, Broken: 3, Late: 3, Past: 2, Future: 2}
}

// calm returns a workload whose records are all accepted, in whichever partitions they are.
func calm(seed uint64) workload {
	return workload{Seed: seed, Users: 60, Pages: 8, Windows: pick(8, 12), Window: 10 * time.Second, Events: 120}
}

// closer returns a record after all others of these workloads, which closes the last windows.
func closer() arrival { return visit("closer", "p00", 130*time.Second) }

func sharded(shards, releaseShards int) settings {
	return func(c *pipeline.Config) { c.Shards, c.ReleaseShards = shards, releaseShards }
}

// tight lowers the noise so far that private keys pass their threshold, targets are met, and a
// user's budget lasts for a few windows: the order of charges and reservations decides on
// admission.
func tight(c *pipeline.Config) {
	for i := range c.Metrics {
		c.Metrics[i].Target.Relative, c.Metrics[i].Target.Absolute = 0.3, 2.4
	}
}

// Events are appended in small random batches while turns are closed and settled. With every other
// seed, they wait after the end of a turn until the turn before it is settled: a reader that closes
// turns too early then does so before their last events, even on a busy machine.
func TestInvariant5EventsArriveWhileTurnsSettle(t *testing.T) {
	broker := startBroker(t)
	for seed := range uint64(pick(1, onReal(t, 3, 5))) {
		d := newDeployment(t, broker, fmt.Sprintf("live%d", seed), 4, tight)
		random := rand.New(runseed.PCG(t, seed, 9))
		w := calm(10 + seed)
		w.Disturb = 4 * time.Second // within the lateness: a turn that is closed too early lacks some
		dealt := scatter(w.arrivals(), 4, seed)
		turns, _ := slices.BinarySearch(d.referenceConfig().TurnEnds(1000), base.Add(12*10*time.Second).UnixMilli()+1)
		for p := range dealt {
			dealt[p] = append(dealt[p], closer())
		}
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
				time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond)
				ended := (slices.Min(last) - base.UnixMilli() - 1000) / 10_000
				for left && seed%2 == 0 && settled.Load() < ended-1 && time.Since(begun) < patience {
					time.Sleep(time.Millisecond)
				}
			}
		})
		d.run(func(o *runOptions) {
			o.OnSettled = func(s pipeline.Settlement) { settled.Store(int64(s.Turn)) }
		}, untilTurn(uint64(turns)))
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
		t.Errorf("the first run settled %d turns, the second one %d", first.Settled, second.Settled)
	}
	d.verify()
}

// Calls that only read change no topic, not even the topics of events and dead letters.
func TestInvariant7ReadingChangesNothing(t *testing.T) {
	d := newDeployment(t, startBroker(t), "reading", 1)
	d.load(scatter(calm(6).arrivals(), 1, 1))
	settled := d.run().Settled
	for name, read := range map[string]func(context.Context) error{
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
			t.Errorf("%s: %v", name, err)
		}
		if after := d.everything(); after != before {
			t.Errorf("%s: offsets were %s before and are %s after", name, before, after)
		}
	}
}

// everything returns the end offsets of all topics, as a text.
func (d *deployment) everything() string {
	out := d.compiled.Config.Outputs
	return d.ownedEnds() + d.ends(out.Control, 1) + d.ends(out.DeadLetter, 1) + d.ends(out.Turns, 1) +
		d.ends(d.config.Events.Topic, d.partitions)
}

// ownedEnds is everything for the topics whose partitions have one writer at a time.
func (d *deployment) ownedEnds() string {
	return d.ends(d.config.Outputs.Counts, d.config.ReleaseShards) + d.ends(d.config.Outputs.Ledger, d.config.Shards)
}

// ends returns the end offsets of a topic's partitions, as a text.
func (d *deployment) ends(topic string, partitions int) string {
	d.t.Helper()
	var ends []int64
	for p := range int32(partitions) {
		offsets := must.Have(d.client.Offsets(d.t.Context(), topic, p))
		ends = append(ends, offsets.High)
	}
	return fmt.Sprint(ends)
}

// pick returns full if long tests run, else short.
func pick(short, full int) int {
	if !long.On() {
		return short
	}
	return full
}
