package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/app/audit/reference"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// Ledger is the index of one ledger partition: the offsets of its deltas and snapshots. It also
// keeps the slices of open windows.
type Ledger struct {
	topic     string
	shard     int
	deltas    map[uint64]extent // complete deltas, by turn
	snapshots map[uint64]extent // complete snapshots, by turn
	seal      *schemas.LedgerSeal
	known     bool // the accounts are known
	deleted   bool // the oldest records have been deleted
	slices    map[uint64]*slice
}

// extent is the range of offsets, from and to included, with the parts of a delta or a snapshot.
type extent struct {
	set      schemas.PartSet
	from, to int64
}

// slice holds the contributions of individuals to one turn.
type slice struct {
	labels []label
	users  []schemas.ContribUser // strictly ascending
	next   int                   // index at which the next lookup begins: users are looked up in order
}

type label struct {
	key    string
	passes uint64
}

// user returns an individual's contributions, or nil if there are none.
func (s *slice) user(o reference.Owner) *schemas.ContribUser {
	order := func(i int) int { return o.Compare(reference.Owner{ID: s.users[i].ID, Period: s.users[i].Period}) }
	if s.next > 0 && order(s.next-1) <= 0 {
		s.next = 0
	}
	for s.next < len(s.users) && order(s.next) > 0 {
		s.next++
	}
	if s.next == len(s.users) || order(s.next) != 0 {
		return nil
	}
	return &s.users[s.next]
}

// OpenLedger indexes a ledger partition. It calls differ if a later epoch wrote a turn a second
// time with different contents, or if a record of an earlier epoch follows one of a later epoch.
func OpenLedger(ctx context.Context, client *kafkalog.Client, userHash [32]byte, topic string, shard int,
	differ func(Difference)) (*Ledger, error) {
	l := &Ledger{topic: topic, shard: shard, seal: schemas.NewLedgerSeal(userHash, shard), deltas: map[uint64]extent{},
		snapshots: map[uint64]extent{}, slices: map[uint64]*slice{}}
	offsets, err := client.Offsets(ctx, topic, int32(shard))
	if err != nil {
		return nil, err
	}
	l.deleted = offsets.Start > 0
	type pieces struct {
		extent
		received map[uint32]bool
	}
	incomplete := map[schemas.PartSet]*pieces{}
	newest := int64(-1)
	err = readAll(ctx, client, topic, int32(shard), func(r kafkalog.Record) error {
		part, err := l.part(r)
		if errors.Is(err, schemas.ErrMalformed) {
			return nil // a foreign record; if compaction replaced a ledger record with it, that record is missing
		}
		if err != nil {
			return fmt.Errorf("reading record %d of %s: %w", r.Offset, topic, err)
		}
		if part.Tombstone {
			return nil
		}
		if part.Set.Epoch < newest {
			differ(Difference{Turn: part.Set.Turn, What: "a ledger record follows one of a later epoch"})
		}
		newest = max(newest, part.Set.Epoch)
		p := incomplete[part.Set]
		if p == nil {
			p = &pieces{extent{part.Set, r.Offset, r.Offset}, map[uint32]bool{}}
			incomplete[part.Set] = p
		}
		p.to, p.received[part.Key.Part] = r.Offset, true
		if len(p.received) < int(part.Set.Parts) {
			return nil
		}
		delete(incomplete, part.Set)
		if part.Key.Kind == schemas.KindSnapshotPart {
			l.snapshots[part.Set.Turn] = p.extent
			return nil
		}
		if earlier, duplicate := l.deltas[part.Set.Turn]; duplicate && earlier.set.Digest != part.Set.Digest {
			differ(Difference{Turn: part.Set.Turn, What: "the turn is on the ledger twice, with different contents"})
		}
		l.deltas[part.Set.Turn] = p.extent
		return nil
	})
	return l, err
}

// Complete reports whether the ledger contains the delta of a turn, or a snapshot that includes it.
func (l *Ledger) Complete(turn uint64) bool {
	_, complete := l.deltas[turn]
	for snapshot := range l.snapshots {
		complete = complete || snapshot >= turn
	}
	return complete
}

// read returns the delta or the snapshot of a turn, joined from its parts, or nil if the ledger
// does not contain all of them.
func read[T any](ctx context.Context, client *kafkalog.Client, l *Ledger, extents map[uint64]extent, turn uint64,
	join func(...schemas.LedgerPart) (T, error)) (*T, error) {
	e, indexed := extents[turn]
	if !indexed {
		return nil, nil
	}
	parts := make([]schemas.LedgerPart, e.set.Parts)
	err := client.ReadRange(ctx, l.topic, int32(l.shard), e.from, e.to+1, func(r kafkalog.Record) error {
		if part, err := l.part(r); err == nil && part.Set == e.set {
			parts[part.Key.Part] = part
		}
		return nil
	})
	if err != nil || slices.ContainsFunc(parts, func(p schemas.LedgerPart) bool { return p.Chunk == nil }) {
		return nil, err // compaction has removed a part since the ledger was indexed
	}
	joined, err := join(parts...)
	if err != nil {
		return nil, fmt.Errorf("reading turn %d of %s: %w", turn, l.topic, err)
	}
	return &joined, nil
}

func (l *Ledger) part(r kafkalog.Record) (schemas.LedgerPart, error) {
	value, err := l.seal.Open(r.Key, r.Value)
	if err != nil {
		return schemas.LedgerPart{}, err
	}
	return schemas.DecodeLedgerPart(r.Key, value)
}

// delta returns the delta of a turn, or nil if it is missing. It also keeps the turn's slice.
func (l *Ledger) delta(ctx context.Context, client *kafkalog.Client, turn uint64) (*schemas.Delta, error) {
	d, err := read(ctx, client, l, l.deltas, turn, schemas.JoinDelta)
	if d != nil {
		users := make([]schemas.ContribUser, len(d.Users))
		for i := range d.Users {
			users[i] = d.Users[i].ContribUser
		}
		l.keep(turn, d.Labels, users)
	}
	return d, err
}

func (l *Ledger) keep(turn uint64, labels []schemas.Label, users []schemas.ContribUser) {
	s := &slice{users: users}
	for _, entry := range labels {
		s.labels = append(s.labels, label{string(entry.Key), entry.Passes})
	}
	l.slices[turn] = s
}

// has reports whether the slices of all turns from first to last are known.
func (l *Ledger) has(first, last uint64) bool {
	for turn := first; turn <= last; turn++ {
		if _, known := l.slices[turn]; !known {
			return false
		}
	}
	return true
}

// visits returns the events that a metric counts of an individual in the turns from first to last.
func (l *Ledger) visits(c *reference.Config, metric int, o reference.Owner, first, last uint64) []reference.Visit {
	spec := &c.Metrics[metric]
	var visits []reference.Visit
	add := func(label label, n uint64, v reference.Visit) {
		if v.Key = label.key; c.Selects(spec, label.passes, v.Key) {
			for range n {
				visits = append(visits, v)
			}
		}
	}
	for turn := first; turn <= last; turn++ {
		s := l.slices[turn]
		if s == nil {
			continue
		}
		user := s.user(o)
		switch {
		case user == nil:
		case metrickind.Of(spec.Kind).Values():
			for _, r := range user.Records {
				add(s.labels[r.Key], uint64(r.N), reference.Visit{Value: r.Value, Record: r.ID})
			}
		default:
			for _, e := range user.Entries {
				add(s.labels[e.Key], uint64(e.N), reference.Visit{})
			}
		}
	}
	return visits
}
