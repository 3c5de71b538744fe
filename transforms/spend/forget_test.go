package spend

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/schemas"
)

// TestRuleAForgottenUserNeverCountsAgain: after Forget and compaction, the ledger has nothing of
// the user, whose later events change neither a count nor the ledger's accounts, through restarts
// and resharding. Every other user counts exactly as if this one had never been there, even in
// windows that were open. Forget may be torn off anywhere, and turns may be played before it is
// repeated.
func TestRuleAForgottenUserNeverCountsAgain(t *testing.T) {
	const gone = 2 // the user
	rapid.Check(t, func(t *rapid.T) {
		s := drawSettings(t)
		with, without := must.Have(newWorld(s, 1)), must.Have(newWorld(s, 1))
		with.maxRecord = rapid.SampledFrom([]int{200, maxLedgerRecord}).Draw(t, "bytes of a ledger record")
		with.engine.maxRecord = with.maxRecord
		turn, forgotten := uint64(0), false
		play := func(turns int) {
			for range turns {
				all := drawContributions(t)
				others := slices.DeleteFunc(slices.Clone(all), func(c contribution) bool { return c.user == gone })
				turn++
				got := must.Have(with.play(turn, all, nil))
				want := must.Have(without.play(turn, others, nil))
				with.settle(turn, got)
				without.settle(turn, got) // the same public record: the user's keys may have been released
				if d := cmp.Diff(nonzero(want), nonzero(got)); forgotten && d != "" {
					t.Fatalf("turn %d counts the user: %s", turn, d)
				}
				for shard := range with.shards {
					addsUp(t, decidedDelta(t, with, shard, turn), with.metrics)
				}
			}
		}
		play(rapid.IntRange(0, 8).Draw(t, "turns before"))
		for torn := rapid.IntRange(0, 3).Draw(t, "attempts torn off"); torn > 0; torn-- {
			landed := rapid.IntRange(0, 20).Draw(t, "records that land")
			with.ledger.tear = func(_, records int) int {
				landed -= records
				if landed >= 0 {
					return -1
				}
				return records + landed
			}
			_, err := with.engine.Forget(t.Context(), testID(gone), with.ledger.nextEpoch(), turn)
			with.ledger.tear = nil
			if err != nil && !errors.Is(err, errCrashed) {
				t.Fatal(err)
			}
			must.Succeed(t, with.restart())
			if rapid.Bool().Draw(t, "turns before it is repeated") {
				play(1)
			}
			if rapid.Bool().Draw(t, "compaction in between") {
				with.ledger.compact()
			}
		}
		must.Have(with.engine.Forget(t.Context(), testID(gone), with.ledger.nextEpoch(), turn))
		forgotten = true
		with.ledger.compact()
		must.Succeed(t, with.restart())
		id := testID(gone)
		absent := func() {
			for shard, log := range with.ledger.logs {
				for _, r := range log {
					if bytes.Contains(r.Value, id[:]) || bytes.Contains(r.Value, id[8:]) {
						t.Fatalf("shard %d: record %s has the user's account", shard, r.Key)
					}
				}
			}
		}
		absent()
		play(rapid.IntRange(1, 10).Draw(t, "turns after"))
		if rapid.Bool().Draw(t, "reshard") {
			s.shards, s.since = rapid.IntRange(1, 3).Draw(t, "other shards"), turn
			with, without = must.Have(with.change(turn, s)), must.Have(without.change(turn, s))
			with.ledger.compact()
			play(rapid.IntRange(1, 4).Draw(t, "turns after the change"))
		}
		absent()
		if d := cmp.Diff(without.accounts(), with.accounts()); d != "" {
			t.Fatal(d)
		}
	})
}

// nonzero returns the counts of a turn that are not 0.
func nonzero(partials []schemas.Partial) map[cell]int64 {
	counts := map[cell]int64{}
	for _, p := range partials {
		for _, c := range p.Cells {
			counts[cell{c.Metric, c.WindowStart, c.WindowEnd, string(c.Key)}] += c.Count
		}
	}
	maps.DeleteFunc(counts, func(_ cell, n int64) bool { return n == 0 })
	return counts
}

// addsUp checks that the windows of one turn have an outcome for every record.
func addsUp(t *rapid.T, d schemas.Delta, metrics []schemas.MetricSpec) {
	t.Helper()
	for i, tally := range d.Tallies {
		m := metrics[d.Windows[i].Metric]
		if m.WindowSize == testTurn && m.Of == "" && tally.Filtered+tally.Counted+tally.Beyond != d.Records {
			t.Fatalf("turn %d: the tally %+v does not add up to %d records", d.Turn, tally, d.Records)
		}
	}
}
