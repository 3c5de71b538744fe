package reading

import (
	"time"

	"github.com/tollgate-dp/tollgate/pipeline/internal/packing"
	"github.com/tollgate-dp/tollgate/schemas"
)

const (
	// lookahead is how many turns behind the settled one are read ahead: by
	// event time, so that a partition that runs ahead waits for the others.
	lookahead = 32
	// closeAhead is how many turns may be closed ahead of settlement, or two
	// spans, if that is more: never more than lookahead.
	closeAhead = 16
	// maxBuffered bounds the events read ahead; the partition that holds the
	// turn back is read all the same.
	maxBuffered   = 1 << 20
	PollWait      = 250 * time.Millisecond
	fetchBytes    = 1 << 20
	maxKnownUsers = 1 << 18
)

// user is who a user id belongs to; hashing every record would cost more than
// the rest of its way.
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
