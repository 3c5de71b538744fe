package spend

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/accounts"
)

// Removed reports how much Forget has removed from the ledger.
type Removed struct {
	Accounts int  // the user's accounts, one for each budget period on the ledger
	Records  int  // records in the shard's ledger that tombstones have replaced
	Again    bool // the user had been forgotten before
}

// Forget removes a user as of a settled turn, and ensures that no later event of the user counts.
// The settled turn must be the last turn of the user's shard. Forget first writes a snapshot in
// which a mark replaces the user's accounts and the user's events in open windows. It then writes a
// tombstone for every other key in the shard's ledger. If it is interrupted, the next start finds
// either the user or the mark, and Forget can be repeated. Errors are as in Checkpoint.
func (e *Engine) Forget(ctx context.Context, id accounts.ID, epoch int64, settled uint64) (Removed, error) {
	n := schemas.ShardOf(id, e.opts.Rules.Shards)
	snapshot, err := e.Checkpoint(ctx, n, epoch, settled)
	if err != nil {
		return Removed{}, err
	}
	s := e.shard(n)
	s.mu.Lock()
	defer s.mu.Unlock()
	removed := Removed{Again: s.accounts.isForgotten(id)}
	before := len(snapshot.Accounts)
	snapshot.Accounts = slices.DeleteFunc(snapshot.Accounts, func(a accounts.Entry) bool { return a.ID == id })
	removed.Accounts = before - len(snapshot.Accounts)
	if !removed.Again {
		s.accounts.forgotten = append(slices.Clone(s.accounts.forgotten), s.accounts.clip.hasher.Forgotten(id))
		slices.SortFunc(s.accounts.forgotten, schemas.ForgottenMark.Compare)
	}
	snapshot.Forgotten = s.accounts.forgotten
	if settled+1 == e.opts.Rules.From {
		snapshot.Open = nil // a change has ended these windows early, and may have changed their metrics
	}
	for i, slice := range snapshot.Open {
		if snapshot.Open[i], err = s.accounts.withoutForgotten(slice); err != nil {
			return Removed{}, err
		}
	}
	records, err := schemas.EncodeSnapshot(snapshot, 1-s.slot, e.maxRecord)
	if err != nil {
		return Removed{}, fmt.Errorf("encoding the snapshot of turn %d: %w", settled, err)
	}
	s.forget()
	old := map[string]bool{} // by ledger key: whether it has a value
	writer, err := e.opts.Ledger.Acquire(ctx, n, epoch, func(r accounts.LedgerRecord) error {
		if _, err := schemas.DecodeLedgerKey(r.Key); err == nil {
			old[string(r.Key)] = r.Value != nil
		}
		return nil
	})
	if err != nil {
		return Removed{}, fmt.Errorf("acquiring shard %d: %w", n, err)
	}
	if err := writer.Append(ctx, records)(ctx); err != nil {
		return Removed{}, fmt.Errorf("storing shard %d without a user: %w", n, err)
	}
	for _, r := range records {
		delete(old, string(r.Key))
	}
	var tombstones []accounts.LedgerRecord
	for key, valued := range old {
		if valued {
			tombstones = append(tombstones, accounts.LedgerRecord{Key: []byte(key)})
		}
	}
	slices.SortFunc(tombstones, func(a, b accounts.LedgerRecord) int { return bytes.Compare(a.Key, b.Key) })
	if removed.Records = len(tombstones); removed.Records == 0 {
		return removed, nil
	}
	if err := writer.Append(ctx, tombstones)(ctx); err != nil {
		return Removed{}, fmt.Errorf("clearing shard %d: %w", n, err)
	}
	return removed, nil
}

// withoutForgotten removes the events of forgotten users from an encoded slice of an open window.
// It also removes the labels that only these events use.
func (a *shardAccounts) withoutForgotten(slice []byte) ([]byte, error) {
	o, err := schemas.DecodeOpenSlice(slice)
	if err != nil {
		return nil, fmt.Errorf("reading a slice of an open window: %w", err)
	}
	c := contributions{labels: o.Labels, users: o.Users, filtered: o.Filtered}
	c.removeForgotten(a)
	users := make([]schemas.DeltaUser, len(c.users))
	for i := range users {
		users[i].ContribUser = c.users[i]
	}
	o.Labels, o.Users = compactLabels(o.Labels, users), c.users
	if slice, err = schemas.EncodeOpenSlice(o); err != nil {
		return nil, fmt.Errorf("encoding the slice of turn %d: %w", o.Turn, err)
	}
	return slice, nil
}
