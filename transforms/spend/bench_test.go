package spend

import (
	"fmt"
	"slices"
	"testing"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/accounts"
)

const (
	benchAccounts = 1_000_000
	benchShards   = 16
	benchPerShard = benchAccounts / benchShards
	benchSettled  = 1000 // the last settled turn; no shard's snapshot is due for long
)

// benchWorld has the accounts in 16 snapshots, as of turn benchSettled.
func benchWorld(b *testing.B, slots int) (*world, *audience) {
	b.Helper()
	s := oneMetric()
	s.shards, s.releaseShards, s.slots = benchShards, 1, slots
	s.budget.Mu2 = 1 << 60
	w := mustWorld(b, s)
	c := newAudience(b, benchAccounts, 100, 1)
	for i := range c.ids { // a user's id says which of the 16 shards is theirs
		c.ids[i][15] = c.ids[i][15]&^(benchShards-1) | byte(i/benchPerShard)
	}
	bytes := 0
	for shard := range benchShards {
		kept := accounts.NewShard()
		for _, id := range c.ids[shard*benchPerShard : (shard+1)*benchPerShard] {
			if err := kept.Put(id, 0, accounts.Account{Spent: 20_000_000_000}); err != nil {
				b.Fatal(err)
			}
		}
		snapshot := schemas.Snapshot{Turn: benchSettled, Accounts: slices.Collect(kept.All())}
		records, err := schemas.EncodeSnapshot(snapshot, 0, maxLedgerRecord)
		if err != nil {
			b.Fatal(err)
		}
		for _, r := range records {
			bytes += len(r.Key) + len(r.Value)
		}
		w.ledger.logs[shard] = records
	}
	b.Cleanup(func() { b.ReportMetric(float64(bytes)/benchAccounts, "snapshot-B/user") })
	w.settlements.settle(schemas.Settled{Turn: benchSettled})
	return w, c
}

// benchTurn spends a turn of every shard with the first active users of each.
func benchTurn(b *testing.B, w *world, c *audience, turn uint64, active int) {
	for shard := range benchShards {
		b.StopTimer()
		from := shard * benchPerShard
		blobs := c.envelope(b, w.epoch, turn, shard, benchShards, from, from+active)
		b.StartTimer()
		pending, err := w.spend(shard, blobs)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := pending.Wait(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	w.settlements.settle(c.settled(turn, w.metrics))
	for shard := range benchShards { // keep the benchmark's own memory small
		w.ledger.logs[shard] = nil
	}
	b.StartTimer()
}

// BenchmarkTurn is a whole turn of 10⁶ accounts in 16 shards, one after the
// other, of whom a part is active: charge, admission, ledger delta, partial
// counts. Without snapshots; those cost the same in every turn.
func BenchmarkTurn(b *testing.B) {
	for _, share := range []struct {
		name   string
		active int
	}{{"0.1%", benchPerShard / 1000}, {"1%", benchPerShard / 100}, {"10%", benchPerShard / 10}, {"100%", benchPerShard}} {
		b.Run("active="+share.name, func(b *testing.B) {
			b.ReportAllocs()
			b.StopTimer()
			w, c := benchWorld(b, 1<<40)
			turn := uint64(benchSettled + 1)
			benchTurn(b, w, c, turn, share.active) // takes the shards
			var ledger int
			w.ledger.onRecord = func(_ int, _ []accounts.LedgerRecord, r accounts.LedgerRecord) { ledger += len(r.Key) + len(r.Value) }
			b.ResetTimer()
			b.StartTimer()
			for b.Loop() {
				turn++
				benchTurn(b, w, c, turn, share.active)
			}
			users := float64(b.N) * float64(share.active*benchShards)
			b.ReportMetric(float64(ledger)/users, "delta-B/active-user")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/users, "ns/active-user")
		})
	}
}

// BenchmarkWindows is a turn of 10⁴ users with which as many metric windows end as the name says:
// what a user costs must not grow faster than the number of windows.
func BenchmarkWindows(b *testing.B) {
	const users = 10_000
	for _, windows := range []int{1, 10, 100, 200} {
		b.Run(fmt.Sprintf("windows=%d", windows), func(b *testing.B) {
			b.ReportAllocs()
			b.StopTimer()
			c := newAudience(b, users, 20, 1)
			var metrics []schemas.MetricSpec
			for i := range windows {
				m := publicMetric(fmt.Sprint("m", i))
				m.PublicKeys = c.keys
				metrics = append(metrics, m)
			}
			s := deployment(1<<60, metrics...)
			s.shards, s.releaseShards, s.slots = 1, 1, 1<<40
			w := mustWorld(b, s)
			turn := uint64(0)
			b.StartTimer()
			for b.Loop() {
				b.StopTimer()
				turn++
				blobs := c.envelope(b, w.epoch, turn, 0, 1, 0, users)
				b.StartTimer()
				pending, err := w.spend(0, blobs)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := pending.Wait(b.Context()); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				w.settlements.settle(c.settled(turn, w.metrics))
				w.ledger.logs[0] = nil
				b.StartTimer()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*users*windows), "ns/user-window")
		})
	}
}

// BenchmarkSnapshot is what the snapshots of all shards cost, once in half as
// many turns as there are ledger slots.
func BenchmarkSnapshot(b *testing.B) {
	b.ReportAllocs()
	b.StopTimer()
	w, c := benchWorld(b, 1<<40)
	benchTurn(b, w, c, benchSettled+1, 1)
	b.StartTimer()
	for b.Loop() {
		for n := range benchShards {
			s := w.engine.shards[n]
			s.mu.Lock()
			s.snapshot = 0
			records, err := w.engine.snapshotRecords(n, &shard{known: known{accounts: charged(s.accounts)}}, &schemas.Open{First: 1 << 41, Turn: 1 << 41})
			s.mu.Unlock()
			if err != nil || len(records) == 0 {
				b.Fatalf("%d records: %v", len(records), err)
			}
		}
	}
}

// charged returns the accounts as if their turn had cost nothing.
func charged(a *shardAccounts) *shardAccounts {
	for _, d := range a.decided {
		for _, r := range d.reservations.list {
			account, _ := a.store.Get(r.id, r.period)
			account.Reserved = 0
			_ = a.store.Put(r.id, r.period, account)
		}
	}
	a.decided = nil
	return a
}

// BenchmarkRestore takes 16 shards of 10⁶ accounts from the ledger, one after
// the other: the snapshot and a number of deltas of 1% active users each.
func BenchmarkRestore(b *testing.B) {
	for _, deltas := range []uint64{0, 32} {
		b.Run(fmt.Sprintf("deltas=%d", deltas), func(b *testing.B) {
			b.ReportAllocs()
			b.StopTimer()
			w, c := benchWorld(b, 1<<40)
			logs := make([][]accounts.LedgerRecord, benchShards)
			w.ledger.onRecord = func(shard int, _ []accounts.LedgerRecord, r accounts.LedgerRecord) {
				logs[shard] = append(logs[shard], r)
			}
			for shard := range logs {
				logs[shard] = w.ledger.logs[shard]
			}
			next := benchSettled + 1 + deltas
			for turn := uint64(benchSettled + 1); turn < next; turn++ {
				benchTurn(b, w, c, turn, benchPerShard/100)
			}
			w.ledger.onRecord = nil
			envelopes := make([][][]byte, benchShards)
			b.StartTimer()
			for b.Loop() {
				b.StopTimer()
				if err := w.restart(); err != nil {
					b.Fatal(err)
				}
				for shard := range envelopes {
					w.ledger.logs[shard] = logs[shard]
					envelopes[shard] = c.envelope(b, w.epoch, next, shard, benchShards, 0, 0)
				}
				b.StartTimer()
				for shard := range benchShards {
					// What taking does, without the turn after it.
					s := w.engine.shard(shard)
					open, _, err := readEnvelope(shard, envelopes[shard])
					if err != nil {
						b.Fatal(err)
					}
					if err := w.engine.acquire(b.Context(), shard, s, open); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/restore")
		})
	}
}
