package accounts

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"iter"
	"slices"

	"github.com/tollgate-dp/tollgate/state/units"
)

const (
	chunkBits = 10
	chunkSize = 1 << chunkBits
	firstSlot = 16 // number of slots of a new index; a power of two

	// A slot of the index holds an entry number in its low bits and a part of the key's hash in the
	// other bits, so that a probe rarely reads a wrong entry.
	slotBits    = 26
	slotMask    = 1<<slotBits - 1
	maxAccounts = slotMask // a slot holds the entry number plus one; 0 means free
)

// Shard holds the accounts of one shard of users, keyed by (ID, period). It is a growing table in
// chunks that are never copied, with an open-addressing index. A user takes 32 bytes for the entry,
// 8 for each metric with a debt, and 5 to 11 for the index. Only DropBefore deletes accounts. A
// Shard is not safe for concurrent use, not even for reading, because All sorts on demand.
type Shard struct {
	NoJSON
	chunks []*[chunkSize]shardEntry
	// parallel to chunks; nil for a chunk whose entries have no reservations
	reserved []*[chunkSize]units.Mu2
	debts    [][]*[chunkSize]units.Mu2 // by metric, each parallel to chunks; shorter or nil without debts
	count    int                       // number of entries, including zero accounts
	zero     int                       // number of entries with a zero account, whose reservation was released in full
	index    []uint32                  // open addressing; the length is a power of two
	order    []uint32                  // the first len(order) entries, in key order; brought up to date by All
	seed     maphash.Seed
}

type shardEntry struct {
	accountKey
	spent units.Mu2
}

type accountKey struct {
	id     ID
	period int64
}

// NewShard returns an empty Shard.
func NewShard() *Shard { return &Shard{index: make([]uint32, firstSlot), seed: maphash.MakeSeed()} }

// Len returns the number of accounts that are not zero.
func (s *Shard) Len() int { return s.count - s.zero }

// Find returns an account and its index, or the zero Account of a new user and −1. Until the next
// DropBefore, At and PutAt can access the account by its index, without a search.
func (s *Shard) Find(id ID, period int64) (index int, a Account) {
	_, n := s.find(accountKey{id, period})
	if n < 0 {
		return -1, Account{}
	}
	return n, s.account(n)
}

// At returns the account at an index. It returns ErrMoved if the index holds another account or
// none, as is possible for an index from before a DropBefore.
func (s *Shard) At(index int, id ID, period int64) (Account, error) {
	if !s.holds(index, id, period) {
		return Account{}, fmt.Errorf("reading an account: %w", ErrMoved)
	}
	return s.account(index), nil
}

func (s *Shard) holds(index int, id ID, period int64) bool {
	return index >= 0 && index < s.count && s.entry(index).accountKey == (accountKey{id, period})
}

// PutAt stores an account. An index other than −1 must be the account's, which saves a search.
// PutAt returns the account's index, or −1 for a zero account, which is never added. If Spent is
// below the stored value, it returns ErrLowered and changes nothing, because no loss may be
// forgotten. It returns ErrMoved as At does. The time is amortised O(1).
func (s *Shard) PutAt(index int, id ID, period int64, a Account) (int, error) {
	if index >= 0 {
		if !s.holds(index, id, period) {
			return -1, fmt.Errorf("storing an account: %w", ErrMoved)
		}
		return index, s.replace(index, a)
	}
	k := accountKey{id, period}
	slot, n := s.find(k)
	if n >= 0 {
		return n, s.replace(n, a)
	}
	if a.IsZero() {
		return -1, nil
	}
	if s.count == maxAccounts {
		return -1, fmt.Errorf("adding an account: %w", ErrShardFull)
	}
	n = s.appendEntry(k, a)
	s.index[slot] = slotOf(s.hash(k), n)
	if s.count > len(s.index)/4*3 {
		s.reindex(2 * len(s.index))
	}
	return n, nil
}

func (s *Shard) replace(n int, a Account) error {
	old := s.account(n)
	if a.Spent < old.Spent {
		return fmt.Errorf("storing an account: %w", ErrLowered)
	}
	if old.IsZero() {
		s.zero--
	}
	if a.IsZero() {
		s.zero++
	}
	s.set(n, a)
	return nil
}

// DropBefore removes the accounts of all periods before the given one. If one of them has a
// reservation, it returns ErrReserved. There must be no later charge for such a period, because its
// account would start from zero. The time is O(accounts).
func (s *Shard) DropBefore(period int64) error {
	drop := 0
	for n := range s.count {
		if s.entry(n).period >= period {
			continue
		}
		if s.account(n).Reserved != 0 {
			return fmt.Errorf("dropping the accounts of past periods: %w", ErrReserved)
		}
		drop++
	}
	if drop == 0 {
		return nil
	}
	rest := NewShard()
	for n := range s.count {
		e := s.entry(n)
		if e.period < period {
			continue
		}
		index, err := rest.PutAt(-1, e.id, e.period, s.account(n))
		if err != nil {
			return fmt.Errorf("dropping the accounts of past periods: %w", err)
		}
		for metric := range s.debts {
			rest.SetDebt(index, metric, s.Debt(n, metric))
		}
	}
	*s = *rest
	return nil
}

// All ranges over the accounts that are not zero, ordered by id, then by period. The Shard must not
// change meanwhile. If k accounts were added since the last call, All sorts them in O(n + k·log k).
func (s *Shard) All() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		s.sort()
		for _, n := range s.order {
			a := s.account(int(n))
			if a.IsZero() {
				continue
			}
			e := s.entry(int(n))
			if !yield(Entry{ID: e.id, Period: e.period, Account: a, Debts: s.debtsOf(int(n))}) {
				return
			}
		}
	}
}

// find returns a key's slot in the index and its entry number. If the key is absent, it returns the
// slot for inserting the key, and −1.
func (s *Shard) find(k accountKey) (slot, n int) {
	h := s.hash(k)
	mask, tag := len(s.index)-1, slotOf(h, -1)
	for slot = int(h) & mask; ; slot = (slot + 1) & mask {
		v := s.index[slot]
		if v == 0 {
			return slot, -1
		}
		if v&^slotMask != tag {
			continue
		}
		n = int(v&slotMask) - 1
		if s.entry(n).accountKey == k {
			return slot, n
		}
	}
}

// slotOf returns the slot value for entry n, whose key has the given hash. The value's tag comes
// from the top bits of the hash, and the slot's position from the bottom bits.
func slotOf(hash uint64, n int) uint32 { return uint32(hash>>32)&^slotMask | uint32(n+1) }

// hash uses a seed per Shard, because another pipeline may let users choose their ids.
func (s *Shard) hash(k accountKey) uint64 { return maphash.Comparable(s.seed, k) }

func (s *Shard) entry(n int) *shardEntry { return &s.chunks[n>>chunkBits][n&(chunkSize-1)] }

func (s *Shard) account(n int) Account {
	a := Account{Spent: s.entry(n).spent}
	if reserved := s.reserved[n>>chunkBits]; reserved != nil {
		a.Reserved = reserved[n&(chunkSize-1)]
	}
	return a
}

// Debt returns the debt for a metric of the account at an index, or 0 for index −1, which stands
// for an account that is not stored.
func (s *Shard) Debt(index, metric int) units.Mu2 {
	if index < 0 || metric >= len(s.debts) {
		return 0
	}
	debts, chunk := s.debts[metric], index>>chunkBits
	if chunk >= len(debts) || debts[chunk] == nil {
		return 0
	}
	return debts[chunk][index&(chunkSize-1)]
}

// SetDebt sets the debt of the account at an index, which must hold an account.
func (s *Shard) SetDebt(index, metric int, debt units.Mu2) {
	if debt == s.Debt(index, metric) {
		return
	}
	for metric >= len(s.debts) {
		s.debts = append(s.debts, nil)
	}
	chunk := index >> chunkBits
	for chunk >= len(s.debts[metric]) {
		s.debts[metric] = append(s.debts[metric], nil)
	}
	if s.debts[metric][chunk] == nil {
		s.debts[metric][chunk] = new([chunkSize]units.Mu2)
	}
	s.debts[metric][chunk][index&(chunkSize-1)] = debt
}

// debtsOf returns the debts of account n in the form of Entry.Debts.
func (s *Shard) debtsOf(n int) []units.Mu2 {
	last := len(s.debts) - 1
	for last >= 0 && s.Debt(n, last) == 0 {
		last--
	}
	if last < 0 {
		return nil
	}
	debts := make([]units.Mu2, last+1)
	for metric := range debts {
		debts[metric] = s.Debt(n, metric)
	}
	return debts
}

// Restore stores an account like PutAt, with its debts.
func (s *Shard) Restore(e Entry) error {
	index, err := s.PutAt(-1, e.ID, e.Period, e.Account)
	if err != nil {
		return err
	}
	for metric, debt := range e.Debts {
		s.SetDebt(index, metric, debt)
	}
	return nil
}

func (s *Shard) set(n int, a Account) {
	s.entry(n).spent = a.Spent
	reserved := s.reserved[n>>chunkBits]
	if reserved == nil {
		if a.Reserved == 0 {
			return
		}
		reserved = new([chunkSize]units.Mu2)
		s.reserved[n>>chunkBits] = reserved
	}
	reserved[n&(chunkSize-1)] = a.Reserved
}

func (s *Shard) appendEntry(k accountKey, a Account) int {
	n := s.count
	if n&(chunkSize-1) == 0 {
		s.chunks = append(s.chunks, new([chunkSize]shardEntry))
		s.reserved = append(s.reserved, nil)
	}
	s.entry(n).accountKey = k
	s.count++
	s.set(n, a)
	return n
}

// reindex rebuilds the index with the given number of slots.
func (s *Shard) reindex(slots int) {
	s.index = make([]uint32, slots)
	mask := slots - 1
	for n := range s.count {
		h := s.hash(s.entry(n).accountKey)
		slot := int(h) & mask
		for s.index[slot] != 0 {
			slot = (slot + 1) & mask
		}
		s.index[slot] = slotOf(h, n)
	}
}

// sortKey contains the leading bytes of an entry's id with the entry's number, so that nearly all
// comparisons need only the slice being sorted.
type sortKey struct {
	lead uint64
	n    uint32
}

// sort sorts the entries that were added since the last call and merges them into order.
func (s *Shard) sort() {
	added := s.count - len(s.order)
	if added == 0 {
		return
	}
	keys := make([]sortKey, added)
	for i := range keys {
		n := uint32(len(s.order) + i)
		keys[i] = sortKey{s.lead(n), n}
	}
	if !slices.IsSortedFunc(keys, s.compareKeys) {
		slices.SortFunc(keys, s.compareKeys)
	}
	old := s.order
	merged := make([]uint32, 0, s.count)
	for _, k := range keys {
		for len(old) > 0 && s.compareKeys(sortKey{s.lead(old[0]), old[0]}, k) < 0 {
			merged = append(merged, old[0])
			old = old[1:]
		}
		merged = append(merged, k.n)
	}
	s.order = append(merged, old...)
}

func (s *Shard) lead(n uint32) uint64 { return binary.BigEndian.Uint64(s.entry(int(n)).id[:8]) }

func (s *Shard) compareKeys(a, b sortKey) int {
	if c := cmp.Compare(a.lead, b.lead); c != 0 {
		return c
	}
	ea, eb := s.entry(int(a.n)), s.entry(int(b.n))
	if c := ea.id.Compare(eb.id); c != 0 {
		return c
	}
	return cmp.Compare(ea.period, eb.period)
}
