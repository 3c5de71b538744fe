package integration

import (
	"context"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/hooks/crashpoint"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// Retention may take what was settled from counts, and a run goes on, also after a crash; what was
// published of a turn that is not settled is missed.
func TestRuleOldCountsMayBeGoneAndThoseOfAnOpenTurnNot(t *testing.T) {
	t.Parallel()
	broker := startBrokerProcess(t)
	for point, missed := range map[string]bool{crashpoint.SettledWritten: false, crashpoint.DeltaWritten: false, crashpoint.CountsWritten: true} {
		t.Run(point, func(t *testing.T) {
			d := newDeployment(t, broker, "old-counts-"+point, 1, tight)
			d.load(scatter(calm(41).arrivals(), 1, 1))
			j := d.job()
			j.CrashAt, j.CrashTurn = point, 5
			d.crashed(j)
			tr, err := d.readTrusted()
			if err != nil {
				t.Fatal(err)
			}
			for shard := range d.config.ReleaseShards {
				bounds, err := d.client.Offsets(t.Context(), d.config.Outputs.Counts, int32(shard))
				if err != nil {
					t.Fatal(err)
				}
				d.deleteRecords(d.config.Outputs.Counts, int32(shard), bounds.High)
			}
			end := startRunner(t, d.job()).last(t)
			if missed {
				if end == nil || end.Kind != "log-fault" {
					t.Fatalf("the run ended with %s, want a fault of the log", end)
				}
				return
			}
			if end == nil || end.Error != "" {
				t.Fatalf("the run ended with %s", end)
			}
			after, err := d.readTrusted()
			if err != nil {
				t.Fatal(err)
			}
			counts, err := d.readCounts()
			if err != nil {
				t.Fatal(err)
			}
			values := map[uint64]int{}
			for _, turn := range counts.turns {
				values[turn]++
			}
			next := tr.last + 1
			ctx, stop := context.WithTimeout(t.Context(), patience)
			defer stop()
			err = pipeline.FollowReleases(ctx, d.compiled, pipeline.FollowOptions{From: &pipeline.Position{Turn: tr.last}}, func(p pipeline.Published) error {
				if p.Turn != next {
					t.Errorf("turn %d comes where %d is awaited", p.Turn, next)
				}
				if want := values[p.Turn]; len(p.Releases) != want || want == 0 {
					t.Errorf("turn %d comes with %d of %d values", p.Turn, len(p.Releases), want)
				}
				if next = p.Turn + 1; next > after.last {
					stop()
				}
				return nil
			})
			if err != nil || next != after.last+1 || after.last <= tr.last {
				t.Errorf("turns %d to %d were settled, and the last on counts is %d (%v)", tr.last+1, after.last, next-1, err)
			}
		})
	}
}
