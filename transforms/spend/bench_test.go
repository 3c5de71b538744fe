package spend

import (
	"fmt"
	"testing"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state"
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
	s.budget.Mu2, s.budget.Keys = 1<<60, state.Delta{Hi: 1}
	w := mustWorld(b, s)
	c := newAudience(benchAccounts, 100, 1)
	for i := range c.ids { // a user's id says which of the 16 shards is theirs
		c.ids[i][15] = c.ids[i][15]&^(benchShards-1) | byte(i/benchPerShard)
	}
	bytes := 0
	for shard := range benchShards {
		accounts := state.NewShard()
		for _, id := range c.ids[shard*benchPerShard : (shard+1)*benchPerShard] {
			if err := accounts.Put(id, 0, state.Account{Spent: 20_000_000_000, Keys: state.Delta{Lo: 1}}); err != nil {
				b.Fatal(err)
			}
		}
		snapshot := schemas.Snapshot{Turn: benchSettled}
		accounts.Range(func(e state.AccountEntry) bool { snapshot.Accounts = append(snapshot.Accounts, e); return true })
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
	for shard := range w.keyed { // keep the benchmark's own memory small
		w.ledger.logs[shard] = nil
		w.keyed[shard].deltas = nil
	}
	b.StartTimer()
}

// BenchmarkTurn is a whole turn of 10⁶ accounts in 16 shards, one after the
// other, of whom a part is active: charge, admission, ledger delta, keyed
// state, partial counts. Without snapshots; those cost the same in every turn.
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
			benchTurn(b, w, c, turn, share.active) // takes the shards and writes the first base
			var ledger int
			w.ledger.onRecord = func(_ int, _ []state.LedgerRecord, r state.LedgerRecord) { ledger += len(r.Key) + len(r.Value) }
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
			records, err := w.engine.snapshotRecords(n, &shard{known: known{accounts: charged(s.accounts), saver: s.saver}}, &schemas.Open{First: 1 << 41, Turn: 1 << 41})
			s.mu.Unlock()
			if err != nil || len(records) == 0 {
				b.Fatalf("%d records: %v", len(records), err)
			}
		}
	}
}

// charged returns the accounts as if their turn had cost nothing.
func charged(a *shardAccounts) *shardAccounts {
	for i := range a.deltaUsers() {
		u := &a.last().delta.Users[i]
		account, _ := a.store.Get(u.ID, u.Period)
		account.Reserved = 0
		_ = a.put(u.ID, u.Period, account)
	}
	a.decided = nil
	return a
}

func (a *shardAccounts) deltaUsers() []schemas.DeltaUser {
	if len(a.decided) == 0 {
		return nil
	}
	return a.last().delta.Users
}

// BenchmarkRestore takes 16 shards of 10⁶ accounts from the ledger, one after
// the other: the snapshot and a number of deltas of 1% active users each.
func BenchmarkRestore(b *testing.B) {
	for _, deltas := range []uint64{0, 32} {
		b.Run(fmt.Sprintf("deltas=%d", deltas), func(b *testing.B) {
			b.ReportAllocs()
			b.StopTimer()
			w, c := benchWorld(b, 1<<40)
			logs := make([][]state.LedgerRecord, benchShards)
			w.ledger.onRecord = func(shard int, _ []state.LedgerRecord, r state.LedgerRecord) { logs[shard] = append(logs[shard], r) }
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
				if err := w.restart(true); err != nil {
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
					if err := w.engine.take(b.Context(), shard, s, open); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/restore")
		})
	}
}

// BenchmarkFromState reads one shard of 62,500 accounts back from keyed state.
func BenchmarkFromState(b *testing.B) {
	b.ReportAllocs()
	b.StopTimer()
	w, c := benchWorld(b, 1<<40)
	const last = benchSettled + 10
	for turn := uint64(benchSettled + 1); turn <= last; turn++ {
		for shard := range benchShards {
			if _, err := w.spend(shard, c.envelope(b, w.epoch, turn, shard, benchShards, shard*benchPerShard, shard*benchPerShard+benchPerShard/100)); err != nil {
				b.Fatal(err)
			}
		}
		w.settlements.settle(c.settled(turn, w.metrics))
	}
	s := w.engine.shard(0)
	b.StartTimer()
	for b.Loop() {
		b.StopTimer()
		w.keyed[0].element()
		b.StartTimer()
		if err := w.engine.fromKeyed(b.Context(), 0, s, &schemas.Open{Epoch: w.epoch, First: last + 1, Turn: last + 1}, w.keyed[0]); err != nil || s.accounts == nil {
			b.Fatal(err)
		}
	}
}
