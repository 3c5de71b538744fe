package reading

import (
	"time"

	"github.com/tollgate-dp/tollgate/pipeline/internal/packing"
	"github.com/tollgate-dp/tollgate/schemas"
)

const (
	// lookahead is how many turns after the settled one are read ahead: by
	// event time, so that a partition that runs ahead waits for the others.
	lookahead = 32
	// closeAhead is how many turns may be closed ahead of settlement, or two
	// spans, if that is more: never more than lookahead.
	closeAhead = 16
	// maxBuffered bounds the events read ahead; the partition that holds the
	// turn back is read all the same.
	maxBuffered = 1 << 20
	// PollWait is how long a fetch waits for the first record.
	PollWait = 250 * time.Millisecond
	// fetchBytes bounds what a fetch brings from one partition.
	fetchBytes = 1 << 20
	// maxKnownUsers bounds the users whose account ids are kept.
	maxKnownUsers = 1 << 18
)

// user returns the user of a user id, and keeps it: hashing the id of every record would
// cost more than all that is done with the record otherwise.
func (s *Source) user(user []byte) *packing.User {
	if u, ok := s.users[string(user)]; ok {
		return u
	}
	if len(s.users) >= maxKnownUsers {
		clear(s.users)
	}
	id := s.hasher.Account(user)
	u := &packing.User{ID: id, Shard: schemas.ShardOf(id, s.dep.Config.Shards)}
	s.users[string(user)] = u
	return u
}
