package integration

import (
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/klog"
	"github.com/tollgate-dp/tollgate/internal/reference"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state"
)

// ledger is what one ledger partition holds.
type ledger struct {
	deltas    map[uint64]schemas.Delta // the complete ones by turn
	snapshots map[uint64]schemas.Snapshot
}

// readLedger goes through one ledger partition in the order of the log. A turn may be written again by a later epoch, but never
// with another body, and nothing of an earlier epoch may stand behind a fence.
func readLedger(records []klog.Record) (ledger, error) {
	l := ledger{map[uint64]schemas.Delta{}, map[uint64]schemas.Snapshot{}}
	collected := map[schemas.PartSet]map[uint32]schemas.LedgerPart{}
	fence, newest := int64(-1), int64(-1)
	for _, r := range records {
		part, err := schemas.DecodeLedgerPart(r.Key, r.Value)
		if err != nil {
			return l, fmt.Errorf("record %d: %w", r.Offset, err)
		}
		switch {
		case part.Tombstone:
			continue
		case part.Key.Kind == schemas.KindFence:
			if part.Fence.Epoch < fence {
				return l, fmt.Errorf("record %d is a fence of epoch %d behind that of %d", r.Offset, part.Fence.Epoch, fence)
			}
			fence = part.Fence.Epoch
			continue
		case part.Set.Epoch < fence:
			return l, fmt.Errorf("record %d of epoch %d stands behind the fence of epoch %d", r.Offset, part.Set.Epoch, fence)
		}
		newest = max(newest, part.Set.Epoch)
		if collected[part.Set] == nil {
			collected[part.Set] = map[uint32]schemas.LedgerPart{}
		}
		collected[part.Set][part.Key.Part] = part
		if err := l.add(collected[part.Set]); err != nil {
			return l, fmt.Errorf("record %d: %w", r.Offset, err)
		}
	}
	if newest > fence { // compaction leaves the last fence only, so that this cannot be asked record by record
		return l, fmt.Errorf("epoch %d wrote without a fence, the last one is of epoch %d", newest, fence)
	}
	return l, nil
}

// add takes a set of parts where it is complete.
func (l *ledger) add(set map[uint32]schemas.LedgerPart) error {
	var parts []schemas.LedgerPart
	for _, i := range slices.Sorted(maps.Keys(set)) {
		parts = append(parts, set[i])
	}
	if parts[0].Key.Kind == schemas.KindSnapshotPart {
		snapshot, err := schemas.JoinSnapshot(parts...)
		if err == nil {
			l.snapshots[snapshot.Turn] = snapshot
		}
		return ignoreIncomplete(err)
	}
	delta, err := schemas.JoinDelta(parts...)
	if err != nil {
		return ignoreIncomplete(err)
	}
	if known, again := l.deltas[delta.Turn]; again && known.BodyDigest() != delta.BodyDigest() {
		return fmt.Errorf("turn %d was written twice with different contents", delta.Turn)
	}
	l.deltas[delta.Turn] = delta
	return nil
}

func ignoreIncomplete(err error) error {
	if errors.Is(err, schemas.ErrIncomplete) {
		return nil
	}
	return err
}

// accounts charges what ledger and control say, turn by turn, and checks at every turn that nobody's spent and held amounts exceed
// the budget, and at every snapshot that it says the same.
func (d *deployment) accounts(tr trusted) (map[state.AccountID]reference.Account, error) {
	all := map[state.AccountID]reference.Account{}
	for shard, l := range tr.ledgers {
		a := auditor{tr: tr, config: d.referenceConfig(), hasher: schemas.NewHasher(d.config.Keys.UserHash),
			accounts: map[state.AccountID]reference.Account{}}
		if err := a.audit(l, shard, d.config.Shards); err != nil {
			return nil, fmt.Errorf("auditing shard %d: %w", shard, err)
		}
		maps.Copy(all, a.accounts)
	}
	return all, nil
}

// auditor follows the accounts of one shard. All windows have one size, so that a turn's slice is a window.
type auditor struct {
	tr       trusted
	config   reference.Config
	hasher   *schemas.Hasher
	accounts map[state.AccountID]reference.Account
}

func (a *auditor) audit(l ledger, shard, shards int) error {
	first, err := a.begin(l)
	if err != nil {
		return err
	}
	for turn := first; turn <= a.tr.last; turn++ {
		delta := l.deltas[turn]
		for _, user := range delta.Users {
			if got := schemas.ShardOf(user.ID, shards); got != shard {
				return fmt.Errorf("turn %d: a user of shard %d stands in shard %d", turn, got, shard)
			}
			if err := a.charge(turn, delta, user); err != nil {
				return fmt.Errorf("turn %d: %w", turn, err)
			}
		}
		if err := a.compare(l.snapshots[turn], turn); err != nil {
			return err
		}
	}
	return nil
}

// begin finds the first turn to charge: turn 1, or where compaction took a delta whose slot was used again, the turn behind the
// earliest snapshot that holds it.
func (a *auditor) begin(l ledger) (uint64, error) {
	lost := uint64(0)
	for turn := uint64(1); turn <= a.tr.last; turn++ {
		if _, ok := l.deltas[turn]; !ok {
			lost = turn
		}
	}
	if lost == 0 {
		return 1, nil
	}
	for turn := lost; turn <= a.tr.last; turn++ {
		base, ok := l.snapshots[turn]
		if !ok {
			continue
		}
		for _, e := range base.Accounts {
			a.accounts[e.ID] = reference.Account{Spent: bigOf(uint64(e.Account.Spent)), Keys: e.Account.Keys.Big()}
		}
		return turn + 1, nil
	}
	return 0, fmt.Errorf("turn %d is settled, and neither its delta nor a snapshot is there", lost)
}

// compare holds a snapshot, where there is one, against the accounts as of its turn.
func (a *auditor) compare(s schemas.Snapshot, turn uint64) error {
	if s.Turn != turn {
		return nil
	}
	if len(s.Accounts) != len(a.accounts) {
		return fmt.Errorf("the snapshot of turn %d has %d accounts, want %d", turn, len(s.Accounts), len(a.accounts))
	}
	for _, e := range s.Accounts {
		account, ok := a.accounts[e.ID]
		if !ok || account.Spent.Cmp(bigOf(uint64(e.Account.Spent))) != 0 || account.Keys.Cmp(e.Account.Keys.Big()) != 0 {
			return fmt.Errorf("the snapshot of turn %d has another amount in an account", turn)
		}
	}
	return nil
}

func (a *auditor) charge(turn uint64, delta schemas.Delta, user schemas.DeltaUser) error {
	account, known := a.accounts[user.ID]
	if !known {
		account = reference.Account{Spent: new(big.Int), Keys: new(big.Int)}
	}
	held, actual := new(big.Int), new(big.Int)
	for i, pair := range delta.Pairs {
		if !user.Admitted.Get(i) {
			continue
		}
		spec := a.config.Metrics[pair.Metric]
		slice := map[string]uint64{}
		for _, kc := range user.Slice {
			if key := string(delta.Keys[kc.Key]); reference.Takes(spec, key) {
				slice[key] += uint64(kc.N)
			}
		}
		kept, _ := reference.Clip(a.hasher, spec, user.ID, slice)
		for key, c := range kept {
			held.Add(held, reference.Charge(c, spec.Top.Big()))
			actual.Add(actual, reference.Charge(c, a.paid(turn, pair, key)))
			if spec.KeyMode == "private" {
				account.Keys.Add(account.Keys, spec.DeltaKey.Big())
			}
		}
	}
	if sum := held.Add(held, account.Spent); sum.Cmp(a.config.Budget.Mu2) > 0 {
		return fmt.Errorf("a user's spent and held amounts are %v of %v", sum, a.config.Budget.Mu2)
	}
	if account.Keys.Cmp(a.config.Budget.Keys) > 0 {
		return fmt.Errorf("a user's δ is %v of %v", account.Keys, a.config.Budget.Keys)
	}
	account.Spent.Add(account.Spent, actual)
	if account.Spent.Sign() != 0 || account.Keys.Sign() != 0 {
		a.accounts[user.ID] = account
	}
	return nil
}

// paid is the precision that SETTLED names for a key, or the first rung for a private key that it does not name.
func (a *auditor) paid(turn uint64, pair schemas.Pair, key string) *big.Int {
	settled := a.tr.settled[turn]
	for _, k := range settled.Keys {
		if k.Metric == pair.Metric && k.WindowStart == pair.WindowStart && k.WindowEnd == pair.WindowEnd && string(k.Key) == key {
			return k.Precision.Big()
		}
	}
	return settled.FirstRungs[pair.Metric].Big()
}
