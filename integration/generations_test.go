package integration

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/hooks/crashpoint"
	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// generation is a configuration that has been in force.
type generation struct {
	config   pipeline.Config
	compiled *pipeline.Deployment
}

// tryChange puts a changed configuration in force and gives up the open windows.
func (d *deployment) tryChange(hooks crashpoint.Hooks, change ...settings) (pipeline.ChangeResult, error) {
	d.t.Helper()
	next := generation{config: d.config}
	next.config.Metrics = append([]pipeline.Metric{}, d.config.Metrics...)
	for _, s := range change {
		s(&next.config)
	}
	var err error
	if next.compiled, err = pipeline.Compile(next.config); err != nil {
		d.t.Fatalf("compiling: %v", err)
	}
	ctx := patient(d.t)
	err = pipeline.CreateTopics(ctx, next.compiled, pipeline.TopicOptions{Replication: 1})
	if err != nil && !strings.Contains(err.Error(), "exists") {
		d.t.Fatalf("creating topics: %v", err)
	}
	result, err := pipeline.Change(crashpoint.With(ctx, hooks), next.compiled, pipeline.ChangeOptions{Now: true})
	if err == nil {
		d.past = append(d.past, generation{d.config, d.compiled})
		d.config, d.compiled = next.config, next.compiled
	}
	return result, err
}

func (d *deployment) change(change ...settings) pipeline.ChangeResult {
	d.t.Helper()
	return must.Have(d.tryChange(crashpoint.Hooks{}, change...))
}

// manyChanges changes everything that can change at once: metrics are added, removed and reordered;
// bounds, ladders, targets, lateness, public keys, budget, noise key, shards and slots differ.
func manyChanges(name string) settings {
	return func(c *pipeline.Config) {
		m := c.Metrics
		added := sumOf("late-comer", 20*time.Second)
		added.Filter = `amount < 8`
		m[1].MaxKeysPerUser, m[1].MaxEventsPerKey = 3, 2
		m[3].Target.Relative, m[3].Target.Absolute, m[4].Burst = 0.5, 3, 0.9
		m[4].Ladder.Factor = 2
		m[5].Max, m[7].Max = 9, 5
		m[8].Min, m[8].Max, m[8].Ranks, m[8].Scale = -100, 90, []float64{0.9, 0.25}, pipeline.ScaleLogarithmic
		m[9].Edges, m[9].Min, m[9].Max = []float64{-9, -4, 0, 1, 2, 5, 9, 12, 16, 28}, -9, 28
		m[10].Scale, m[10].Also = pipeline.ScaleLinear, []string{"variance"}
		m[7].Also, m[8].Also = []string{"standard_deviation"}, []string{"mean"}
		m[1].Counted, m[3].Counted, m[4].Counted = nil, &pipeline.Counted{MaxEvents: 4}, &pipeline.Counted{Share: 0.2,
			MaxEvents: 20}
		m[6].Keys.List = []string{"p00", "p02"}
		// without visits
		c.Metrics = []pipeline.Metric{added, m[5], m[1], m[2], m[4], m[3], m[6], m[10], m[7], m[8], m[9]}
		c.Time.Lateness = 3 * time.Second
		c.Privacy.Epsilon *= 0.8
		c.Keys.Noise = noisereduction.NoiseKey{ID: "k2", Secret: secret.New([32]byte{8, 8, 8})}
		c.Shards, c.Outputs.Ledger = c.Shards+3, name+"-ledger-2"
		c.ReleaseShards, c.Outputs.Counts = c.ReleaseShards+1, name+"-counts-2"
		c.LedgerSlots = 7
	}
}

func TestRuleAChangeIsObeyedByEveryReplay(t *testing.T) {
	t.Parallel()
	broker := startBroker(t)
	for _, seed := range []uint64{71, 72}[:pick(1, onReal(t, 1, 2))] {
		name := numbered("generations", int(seed))
		d := newMixed(t, broker, name, 3)
		w := shoppers(seed)
		w.Windows = 26
		d.load(scatter(w.arrivals(), 3, seed))
		d.runTurns(4)
		d.verify()
		result := d.change(manyChanges(name))
		if result.Generation != 2 || result.FromTurn < 5 || result.RetiredKey != "k1" ||
			len(result.RetiredTopics) != 2 || !slices.Contains(result.GivenUp, "day") {
			t.Errorf("the change returned %+v", result)
		}
		if d.config.Shards != 4+3 {
			t.Fatal("the shards were not changed")
		}
		d.runTurns(1)
		// The same configuration again changes nothing, and two changes may follow each other at
		// once.
		if again := d.change(); len(again.Differences) != 0 {
			t.Errorf("the same configuration again differs in %v", again.Differences)
		}
		d.past = d.past[:len(d.past)-1]
		d.change(func(c *pipeline.Config) { c.Metrics[1].MaxKeysPerUser = 1 })
		d.change(func(c *pipeline.Config) { c.Time.Lateness = 6 * time.Second })
		d.runTurns(5)
		d.run()
		d.verify()
		var old int
		all := must.Have(pipeline.ReadReleases(t.Context(), d.compiled))
		for _, r := range all {
			if r.NoiseKeyID != "k2" || r.Generation < 2 {
				old++
			}
		}
		if old > 0 || len(all) == 0 {
			t.Errorf("%d of %d values of the new counts topic are of the old generation", old, len(all))
		}
	}
}

// A change that dies at any point has happened completely or not at all. If it has not, the old
// configuration continues, and the change can be repeated.
func TestRuleAnInterruptedChangeHasNotHappened(t *testing.T) {
	t.Parallel()
	broker := startBroker(t)
	points := []string{crashpoint.EpochWriting, crashpoint.EpochWritten, crashpoint.FenceWriting,
		crashpoint.FenceWritten,
		crashpoint.DeltaWriting, crashpoint.DeltaWritten, crashpoint.GenerationWriting, crashpoint.GenerationWritten}
	again := points[:len(points)-1] // repeated without a run in between
	if !long.On() {
		points, again = points[6:], points[5:6]
	}
	for i, point := range slices.Concat(points, again) {
		atOnce := i >= len(points)
		t.Run(point, func(t *testing.T) {
			name := numbered("dying", i)
			d := newMixed(t, broker, name, 2)
			d.load(scatter(backlog(uint64(80+i)).arrivals(), 2, 1))
			d.runTurns(3)
			met := 0
			before := generation{d.config, d.compiled}
			_, err := d.tryChange(crashpoint.Hooks{At: func(passed string, _ int) error {
				if passed != point {
					return nil
				}
				if met++; met%3 == 1 && met > 1 || met == 1 && i%2 == 0 || !strings.HasPrefix(point, "fence") &&
					!strings.HasPrefix(point, "delta") {
					return errDied
				}
				return nil
			}}, manyChanges(name))
			if !errors.Is(err, errDied) {
				t.Fatalf("the change ended with: %v", err)
			}
			if point != crashpoint.GenerationWritten {
				if !atOnce {
					d.runTurns(2) // under the old configuration
					d.verify()
				}
				d.change(manyChanges(name))
			} else {
				if _, err := d.tryRun(); !errors.Is(err, pipeline.ErrHeaderMismatch) {
					t.Fatalf("under the old configuration: %v", err)
				}
				d.past = append(d.past, before)
				manyChanges(name)(&d.config)
				again := attach(t, d.config)
				d.compiled = again.compiled
			}
			d.run()
			d.verify()
		})
	}
}

// A change is refused while a turn is under way, and if another run takes over meanwhile. A run
// that is drained at once finishes the turn.
func TestRuleATurnUnderWayIsFinishedBeforeAChange(t *testing.T) {
	broker := startBroker(t)
	d := newDeployment(t, broker, "underway", 2, tight)
	d.load(scatter(calm(90).arrivals(), 2, 1))
	if _, err := d.tryRun(diesAt(crashpoint.SettledWriting)); !errors.Is(err, errDied) {
		t.Fatalf("running: %v", err)
	}
	looser := func(c *pipeline.Config) { c.Metrics[0].Target.Relative = 0.4 }
	if _, err := d.tryChange(crashpoint.Hooks{}, looser); !errors.Is(err, pipeline.ErrInterruptedTurn) {
		t.Fatalf("changing over an interrupted turn: %v", err)
	}
	d.runTurns(0)
	// Another run takes over during the change.
	taken := false
	_, err := d.tryChange(crashpoint.Hooks{At: func(point string, _ int) error {
		if point == crashpoint.GenerationWriting && !taken {
			taken = true
			d.runTurns(1)
		}
		return nil
	}}, looser)
	if err == nil || !strings.Contains(err.Error(), "another run has taken over") {
		t.Fatalf("changing under a run: %v", err)
	}
	d.change(looser)
	d.run()
	d.verify()
}

// Every range of turns has its own noise key, which each value names. After a change, nothing needs
// the old key.
func TestRuleANoiseKeyServesOneRangeOfTurns(t *testing.T) {
	t.Parallel()
	broker := startBrokerProcess(t)
	d := newMixed(t, broker, "rotation", 2)
	w := shoppers(91)
	w.Windows = 26
	d.load(scatter(w.arrivals(), 2, 1))
	ranges := map[uint64]string{}
	for i := range 3 {
		d.runTurns(3)
		id := numbered("k", i+2)
		result := d.change(func(c *pipeline.Config) {
			c.Keys.Noise = noisereduction.NoiseKey{ID: id, Secret: secret.New([32]byte{byte(i + 40)})}
		})
		ranges[result.FromTurn] = id
		if result.RetiredKey != numbered("k", i+1) {
			t.Errorf("the change returned %+v", result)
		}
		// The configuration with the retired key is refused.
		if _, err := pipeline.Run(t.Context(), d.past[i].compiled, pipeline.RunOptions{Bounded: true,
			Logger: quiet()}); !errors.Is(err, pipeline.ErrHeaderMismatch) {
			t.Fatalf("with the retired key: %v", err)
		}
		// A turn that is interrupted after the change is redone without the retired key.
		j := d.job()
		j.CrashAt, j.CrashTurn = crashpoint.CountsWritten, result.FromTurn
		d.crashed(j)
	}
	d.run()
	d.verify()
	all := must.Have(pipeline.ReadReleases(t.Context(), d.compiled))
	for _, r := range all {
		want := "k1"
		for from, id := range ranges {
			if from <= r.Turn && id > want {
				want = id
			}
		}
		if r.NoiseKeyID != want {
			t.Fatalf("turn %d was released under key %s, want %s", r.Turn, r.NoiseKeyID, want)
		}
	}
}

// A lowered budget applies to all users: those who have spent more no longer count, and their
// accounts stay as they are.
func TestRuleALoweredBudgetIsHeldAgainstWhatWasSpent(t *testing.T) {
	d := newDeployment(t, startBroker(t), "lowered", 1, tight)
	d.load(spread(calm(92).arrivals(), 1))
	d.runTurns(4)
	before := d.compiled.Budget.Mu2
	d.change(func(c *pipeline.Config) { c.Privacy.Epsilon /= 4 })
	if d.compiled.Budget.Mu2 >= before/2 {
		t.Fatal("the budget was not lowered")
	}
	d.run()
	d.verify()
	over := 0
	for _, a := range d.reference().accounts {
		if a.Spent > int64(d.compiled.Budget.Mu2) {
			over++
		}
	}
	if over == 0 {
		t.Error("nobody had spent more than the new budget: the case is too tame")
	}
}

// A change revokes closed turns that no run has opened; they are closed again, with other cuts.
func TestRuleAChangeTakesClosedTurnsBack(t *testing.T) {
	t.Parallel()
	d := newMixed(t, startBroker(t), "closed-change", 2)
	d.load(scatter(backlog(780).arrivals(), 2, 1))
	d.runTurns(1)
	d.append(0, []arrival{visit("later", "p00", 170*time.Second)})
	d.change(func(c *pipeline.Config) { c.Time.Lateness += 2 * time.Second })
	d.runTurns(1)
	d.append(1, []arrival{visit("later", "p00", 171*time.Second)})
	d.change(func(c *pipeline.Config) { c.Metrics[1].MaxKeysPerUser = 1 })
	d.run()
	d.verify()
	back, last := 0, uint64(0)
	for _, r := range d.records(d.config.Outputs.Control, 0) {
		switch body := must.Have(schemas.DecodeControl(r.Value)).Body.(type) {
		case *schemas.Generation:
			if last >= body.Header.FromTurn {
				back++
			}
		case *schemas.Close:
			last = body.Turn
		}
	}
	if back != 2 {
		t.Errorf("%d changes revoked turns, want 2: the case is too tame", back)
	}
}
