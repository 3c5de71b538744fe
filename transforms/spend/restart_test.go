package spend

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/units"
)

// TestARestartAtAnyTurnRestoresExactly, with every number of slots, after a
// compaction that keeps the newest record of every key and nothing else.
func TestARestartAtAnyTurnRestoresExactly(t *testing.T) {
	for _, slots := range []int{4, 5, 8, 9} {
		s := oneMetric()
		s.slots, s.shards = slots, 2
		turns := uint64(4*slots + 3)
		var want []string // accounts as of each turn, without any restart
		quiet := mustWorld(t, s)
		for turn := uint64(1); turn <= turns; turn++ {
			mustPlay(t, quiet, turn, turn)
			want = append(want, fmt.Sprint(quiet.accounts()))
		}
		for at := uint64(1); at <= turns; at++ {
			w := mustWorld(t, s)
			mustPlay(t, w, 1, at-1)
			w.ledger.compact()
			if err := w.restart(); err != nil {
				t.Fatal(err)
			}
			mustPlay(t, w, at, at)
			if got := fmt.Sprint(w.accounts()); got != want[at-1] {
				t.Fatalf("%d slots, restarted at turn %d: accounts are %s, want %s", slots, at, got, want[at-1])
			}
			if n := len(w.ledger.logs[0]); n > slots+2+int(at)+4 {
				t.Fatalf("%d slots, turn %d: %d records after a compaction", slots, at, n)
			}
		}
	}
}

// TestARestartNeedsTheTurnsSinceTheSnapshotOnly: settlements before it are not
// asked for, so that control need not be read years back.
func TestARestartNeedsTheTurnsSinceTheSnapshotOnly(t *testing.T) {
	s := oneMetric()
	s.slots = 8
	w := mustWorld(t, s)
	mustPlay(t, w, 1, 40)
	if err := w.restart(); err != nil {
		t.Fatal(err)
	}
	clear(w.settlements.asked)
	mustPlay(t, w, 41, 41)
	for turn := range w.settlements.asked {
		if turn < 41-uint64(s.slots)/2-1 {
			t.Errorf("the settlement of turn %d was asked for", turn)
		}
	}
}

// audience is many users, one event of one key each.
type audience struct {
	ids  []accounts.ID
	keys [][]byte
}

func newAudience(t testing.TB, users, keys int, seed uint64) *audience {
	rng := rand.New(runseed.PCG(t, seed, 2))
	c := &audience{ids: make([]accounts.ID, users)}
	for i := range c.ids {
		binary.BigEndian.PutUint64(c.ids[i][:8], rng.Uint64())
		binary.BigEndian.PutUint64(c.ids[i][8:], rng.Uint64())
	}
	for k := range keys {
		c.keys = append(c.keys, fmt.Appendf(nil, "key-%03d", k))
	}
	return c
}

func (c *audience) labels() []schemas.Label {
	labels := make([]schemas.Label, len(c.keys))
	for i, k := range c.keys {
		labels[i].Key = k
	}
	return labels
}

// envelope returns a shard's turn with some of the contributions in it, whichever shard the
// ids would belong to, packed as READ packs them: in order of users.
func (c *audience) envelope(t testing.TB, epoch int64, turn uint64, shard, shards, from, to int) [][]byte {
	t.Helper()
	open := schemas.EncodeOpen(schemas.Open{Epoch: epoch, Turn: turn, Contributions: uint64(to - from), Shard: uint32(shard), Shards: uint32(shards), SettledAt: -1})
	b := schemas.Contributions{Epoch: epoch, Turn: turn, Shard: uint32(shard), Records: uint64(to - from), Labels: c.labels(), Users: make([]schemas.ContribUser, to-from)}
	entries := make([]schemas.KeyCount, to-from)
	for i := range b.Users {
		entries[i] = schemas.KeyCount{Key: uint32((from + i) % len(c.keys)), N: 1}
		b.Users[i] = schemas.ContribUser{ID: c.ids[from+i], Entries: entries[i : i+1]}
	}
	slices.SortFunc(b.Users, func(a, b schemas.ContribUser) int { return schemas.CompareUsers(&a, &b) })
	data, err := schemas.EncodeContributions(b)
	if err != nil {
		t.Fatal(err)
	}
	return [][]byte{open, data}
}

// settled releases every key of the contributions.
func (c *audience) settled(turn uint64, metrics []schemas.MetricSpec) schemas.Settled {
	s := schemas.Settled{Turn: turn}
	for i, m := range metrics {
		s.FirstRungs = append(s.FirstRungs, m.First)
		for _, k := range c.keys {
			s.Keys = append(s.Keys, schemas.SettledKey{Metric: uint32(i), WindowStart: int64(turn-1) * 1000, WindowEnd: int64(turn) * 1000, Key: k, Precision: m.Top})
		}
	}
	return s
}

// TestPartsThatWereTornOffAreNotThere: deltas and snapshots of several records,
// of which an append leaves any number before the process is killed, turn
// after turn. Parts of two epochs are never joined, a torn snapshot never
// counts, and the accounts come out exact.
func TestPartsThatWereTornOffAreNotThere(t *testing.T) {
	const users, turns = 60, 9
	c := newAudience(t, users, 3, 1)
	s := oneMetric()
	s.budget.Mu2 = 1 << 50
	for landed := range 16 {
		w := mustWorld(t, s)
		w.maxRecord = 300
		w.engine.maxRecord = 300
		torn := 0
		for turn := uint64(1); turn <= turns; turn++ {
			w.ledger.tear = func(_, records int) int {
				if records < 2 {
					t.Fatalf("the delta of %d users fits one record", users)
				}
				return landed
			}
			for attempt := 0; ; attempt++ {
				pending, err := w.spend(0, c.envelope(t, w.epoch, turn, 0, 1, 0, users))
				if err != nil {
					t.Fatal(err)
				}
				_, err = pending.Wait(context.Background())
				if err == nil {
					break
				}
				if !errors.Is(err, errCrashed) || attempt > 1 {
					t.Fatal(err)
				}
				torn++
				w.ledger.tear = nil
				w.ledger.compact()
				if err := w.restart(); err != nil {
					t.Fatal(err)
				}
			}
			w.settlements.settle(c.settled(turn, s.metrics))
		}
		if torn != turns {
			t.Fatalf("%d of %d appends were torn", torn, turns)
		}
		for at, a := range w.accounts() {
			if want := (accounts.Account{Spent: 4 * (turns - 1), Reserved: 4, Keys: units.Delta{Lo: turns}}); a != want {
				t.Fatalf("torn after %d records: account %x is %+v, want %+v", landed, at.id, a, want)
			}
		}
		if n := len(w.accounts()); n != users {
			t.Fatalf("torn after %d records: %d accounts of %d", landed, n, users)
		}
	}
}
