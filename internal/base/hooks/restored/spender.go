package restored

import (
	"context"
	"sync"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/transforms"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// Spender opens SPEND in a process that loses a shard before each turn for which forget returns
// true (see crashpoint.Hooks). The next turn then finds the shard only in the ledger.
func Spender(
	open func() (transforms.Spender, error), forget func(shard int, turn uint64) bool,
) (transforms.Spender, error) {
	if forget == nil {
		return open()
	}
	return &spender{open: open, forget: forget, shards: map[int]*shard{}}, nil
}

type spender struct {
	open   func() (transforms.Spender, error)
	forget func(shard int, turn uint64) bool

	mu     sync.Mutex
	shards map[int]*shard
}

// shard holds the Spender of one shard, which is nil before the first turn.
type shard struct {
	mu sync.Mutex
	transforms.Spender
}

// Spend implements transforms.Spender.
func (s *spender) Spend(ctx context.Context, n int, envelope [][]byte) (spend.Pending, error) {
	sh := s.shard(n)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if turn := newestTurn(envelope); sh.Spender == nil || turn > 0 && s.forget(n, turn) {
		var err error
		if sh.Spender, err = s.open(); err != nil {
			return nil, err
		}
	}
	return sh.Spender.Spend(ctx, n, envelope)
}

func (s *spender) shard(n int) *shard {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shards[n] == nil {
		s.shards[n] = new(shard)
	}
	return s.shards[n]
}

// newestTurn returns the turn of the OPEN with the newest epoch, or 0 if there is no OPEN.
func newestTurn(envelope [][]byte) (newest uint64) {
	last := int64(-1)
	for _, b := range envelope {
		if kind, epoch, turn, err := schemas.PeekEpoch(b); err == nil && kind == schemas.KindOpen && epoch > last {
			last, newest = epoch, turn
		}
	}
	return newest
}
