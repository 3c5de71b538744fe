package spend

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/accounts"
)

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
