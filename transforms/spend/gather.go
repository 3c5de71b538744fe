package spend

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state"
)

// gathered is everything a shard got for one turn: a sorted dictionary of keys
// and, per user, how many events of each key. It does not depend on the order
// or the packing in which the contributions came.
type gathered struct {
	records uint64
	keys    [][]byte
	users   []gatheredUser
}

type gatheredUser struct {
	id      state.AccountID
	period  int64
	entries []schemas.KeyCount // ascending by key
}

// gather merges the batches of one shard and turn.
func gather(batches []schemas.Contributions) (gathered, error) {
	var g gathered
	index := map[string]uint32{}
	for _, b := range batches {
		g.records += b.Records
		for _, k := range b.Keys {
			if _, known := index[string(k)]; !known {
				index[string(k)] = 0
				g.keys = append(g.keys, k)
			}
		}
	}
	slices.SortFunc(g.keys, bytes.Compare)
	for i, k := range g.keys {
		index[string(k)] = uint32(i)
	}
	for _, b := range batches {
		place := make([]uint32, len(b.Keys))
		for i, k := range b.Keys {
			place[i] = index[string(k)]
		}
		for _, u := range b.Users {
			entries := make([]schemas.KeyCount, len(u.Entries))
			for i, e := range u.Entries {
				if int(e.Key) >= len(place) {
					return gathered{}, fmt.Errorf("merging contributions: a key index points past its dictionary")
				}
				entries[i] = schemas.KeyCount{Key: place[e.Key], N: e.N}
			}
			g.users = append(g.users, gatheredUser{u.ID, u.Period, entries})
		}
	}
	g.mergeUsers()
	return g, nil
}

func (u *gatheredUser) compare(o *gatheredUser) int {
	if c := u.id.Compare(o.id); c != 0 {
		return c
	}
	return cmp.Compare(u.period, o.period)
}

// mergeUsers sorts users and joins those that several batches name.
func (g *gathered) mergeUsers() {
	slices.SortStableFunc(g.users, func(a, b gatheredUser) int { return a.compare(&b) })
	merged := g.users[:0]
	for _, u := range g.users {
		if n := len(merged); n > 0 && merged[n-1].compare(&u) == 0 {
			merged[n-1].entries = append(merged[n-1].entries, u.entries...)
			continue
		}
		merged = append(merged, u)
	}
	g.users = merged
	for i := range g.users {
		g.users[i].entries = mergeEntries(g.users[i].entries)
	}
}

// mergeEntries sorts by key and adds up, saturating: no bound is near the top.
func mergeEntries(entries []schemas.KeyCount) []schemas.KeyCount {
	slices.SortFunc(entries, func(a, b schemas.KeyCount) int { return cmp.Compare(a.Key, b.Key) })
	merged := entries[:0]
	for _, e := range entries {
		if n := len(merged); n > 0 && merged[n-1].Key == e.Key {
			merged[n-1].N = uint32(min(uint64(merged[n-1].N)+uint64(e.N), math.MaxUint32))
			continue
		}
		merged = append(merged, e)
	}
	return merged
}
