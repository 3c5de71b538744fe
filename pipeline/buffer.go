package pipeline

import (
	"fmt"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state"
	"github.com/tollgate-dp/tollgate/transforms"
)

// maxBatchUsers bounds one packed batch, and so the size of an element.
const maxBatchUsers = 32 << 10

// buffer holds what was read for one turn that is not open yet.
type buffer struct {
	records uint64
	shards  []*shardBuffer
	// first is, per partition, the first offset that contributes.
	first map[int32]mark
}

// mark is a place to read again from: an offset and the largest append time
// before it.
type mark struct {
	offset     int64
	appendTime int64
}

// shardBuffer sums up what the users of one shard contributed.
type shardBuffer struct {
	records uint64
	keys    map[string]uint32
	names   [][]byte
	users   map[userPeriod]int
	list    []schemas.ContribUser
}

type userPeriod struct {
	id     state.AccountID
	period int64
}

func newBuffer(shards int) *buffer {
	return &buffer{shards: make([]*shardBuffer, shards), first: map[int32]mark{}}
}

// add counts one event of a user.
func (b *buffer) add(id state.AccountID, key []byte, partition int32, at mark) {
	b.records++
	if _, seen := b.first[partition]; !seen {
		b.first[partition] = at
	}
	n := schemas.ShardOf(id, len(b.shards))
	s := b.shards[n]
	if s == nil {
		s = &shardBuffer{keys: map[string]uint32{}, users: map[userPeriod]int{}}
		b.shards[n] = s
	}
	s.add(userPeriod{id: id}, key)
}

func (s *shardBuffer) add(who userPeriod, key []byte) {
	s.records++
	k, known := s.keys[string(key)]
	if !known {
		k = uint32(len(s.names))
		name := string(key)
		s.keys[name] = k
		s.names = append(s.names, []byte(name))
	}
	u, known := s.users[who]
	if !known {
		u = len(s.list)
		s.users[who] = u
		s.list = append(s.list, schemas.ContribUser{ID: who.id, Period: who.period})
	}
	entries := s.list[u].Entries
	// A user has few keys; one with many gets some entries twice, which SPEND
	// adds up.
	for i := max(0, len(entries)-16); i < len(entries); i++ {
		if entries[i].Key == k && entries[i].N < 1<<31 {
			entries[i].N++
			return
		}
	}
	s.list[u].Entries = append(entries, schemas.KeyCount{Key: k, N: 1})
}

// elements packs the turn for every shard, with the OPEN that lets it be spent.
func (b *buffer) elements(open schemas.Open) ([]transforms.Element, error) {
	var out []transforms.Element
	for n, s := range b.shards {
		open.Shard, open.Shards = uint32(n), uint32(len(b.shards))
		if s != nil {
			batches, err := s.batches(open)
			if err != nil {
				return nil, err
			}
			out = append(out, batches...)
		}
		out = append(out, transforms.Element{Shard: n, Data: schemas.EncodeOpen(open)})
	}
	return out, nil
}

func (s *shardBuffer) batches(open schemas.Open) ([]transforms.Element, error) {
	var out []transforms.Element
	records := s.records
	for from := 0; from < len(s.list); from += maxBatchUsers {
		to := min(from+maxBatchUsers, len(s.list))
		data, err := schemas.EncodeContributions(schemas.Contributions{
			Epoch: open.Epoch, Turn: open.Turn, Shard: open.Shard, Records: records, Keys: s.names, Users: s.list[from:to],
		})
		if err != nil {
			return nil, fmt.Errorf("packing turn %d: %w", open.Turn, err)
		}
		out = append(out, transforms.Element{Shard: int(open.Shard), Data: data})
		records = 0 // counted once, with the first batch
	}
	return out, nil
}
