package audit

import (
	"context"
	"crypto/sha256"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tollgate-dp/tollgate/internal/app/audit/reference"
	"github.com/tollgate-dp/tollgate/schemas"
)

// compareDeltas compares admissions and contributions with the ledger, shard by shard.
func (a *auditor) compareDeltas(g *generation, t *reference.Turn, deltas []*schemas.Delta, fromEvents bool) {
	var group errgroup.Group
	for shard, l := range g.ledgers {
		if g.hasher != nil && deltas[shard] == nil && !l.Complete(t.Number) {
			if l.deleted {
				a.report.skip(t.Number, "admissions and snapshots: they have been deleted from %s", l.topic)
			} else {
				a.report.differ(Difference{Turn: t.Number, What: "the turn is missing from the ledger"})
			}
		}
		if d := deltas[shard]; d != nil && l.known {
			group.Go(func() error {
				a.compareDelta(g, t, l, d, fromEvents)
				return nil
			})
		}
	}
	_ = group.Wait()
	for _, m := range slices.Concat(t.Members...) {
		shard := schemas.ShardOf(m.Owner.ID, len(g.ledgers))
		if deltas[shard] != nil && g.ledgers[shard].known && !m.Listed && m.Admitted() {
			a.report.differ(Difference{Turn: t.Number, What: "a user who is admitted is missing from the ledger",
				User: userOf(m.Owner)})
		}
	}
}

func (a *auditor) compareDelta(g *generation, t *reference.Turn, l *Ledger, d *schemas.Delta, fromEvents bool) {
	if !slices.Equal(d.Windows, t.Config.Ending(t.End)) {
		a.report.differ(Difference{Turn: t.Number, What: "the windows in the ledger differ"})
		return
	}
	hasher, sliced := g.hasher.Clone(), a.hasSlices(t, l, d)
	for _, user := range d.Users {
		o := reference.Owner{ID: user.ID, Period: user.Period}
		if schemas.ShardOf(user.ID, len(g.ledgers)) != l.shard {
			a.report.differ(Difference{Turn: t.Number, What: "a user is in the wrong shard's ledger", User: userOf(o)})
		}
		m, same := a.replay.Member(t, o), true
		if m != nil {
			m.Listed = true
		}
		for i, w := range d.Windows {
			want := m != nil && m.Part(int(w.Metric)) != nil && m.Part(int(w.Metric)).Admitted
			if user.Admitted.Get(i) != want {
				same = false
				a.report.differ(a.place(t, w, Difference{What: "an admission in the ledger differs", User: userOf(o)}))
			}
		}
		if m == nil || !same || !fromEvents {
			continue
		}
		fromLedger := &reference.Member{Owner: o}
		if a.join(hasher, fromLedger, t, l, d, user); sliced && !m.Matches(t.Config, fromLedger) {
			a.report.differ(Difference{Turn: t.Number, What: "contributions in the ledger differ", User: userOf(o)})
		}
	}
}

// place sets the turn, metric and window of a difference.
func (a *auditor) place(t *reference.Turn, w schemas.MetricWindow, d Difference) Difference {
	from := time.UnixMilli(t.Config.Zone.Time(w.WindowStart)).UTC()
	d.Turn, d.Metric, d.Window = t.Number, t.Config.Metrics[w.Metric].Name, &from
	return d
}

// hasSlices reports whether the ledger holds the slice of every turn in the windows of a delta.
func (a *auditor) hasSlices(t *reference.Turn, l *Ledger, d *schemas.Delta) bool {
	for _, w := range d.Windows {
		if !l.has(a.replay.TurnAt(w.WindowStart), t.Number) {
			return false
		}
	}
	return true
}

// readDeltas returns the delta of a turn from each shard, or nil for a shard without one. It also
// drops the slices that no window needs any more.
func (a *auditor) readDeltas(ctx context.Context, g *generation, t *reference.Turn) ([]*schemas.Delta, error) {
	deltas := make([]*schemas.Delta, len(g.ledgers))
	group, ctx := errgroup.WithContext(ctx)
	oldest := t.Number
	for _, w := range t.Config.Ending(t.End) {
		oldest = min(oldest, a.replay.TurnAt(w.WindowStart))
	}
	oldest = min(oldest, a.replay.TurnAt(t.Config.OldestOpen(t.End)))
	for shard, l := range g.ledgers {
		if g.hasher == nil {
			break
		}
		group.Go(func() (err error) {
			maps.DeleteFunc(l.slices, func(turn uint64, _ *slice) bool { return turn < oldest })
			deltas[shard], err = l.delta(ctx, a.client, t.Number)
			return err
		})
	}
	return deltas, group.Wait()
}

// compareSettled compares the released cells and their precisions with SETTLED.
func (a *auditor) compareSettled(t *reference.Turn) {
	settled := a.control.Settled[t.Number]
	want := map[reference.Cell]reference.Draw{}
	for _, draw := range t.Draws {
		if draw.Released {
			want[draw.Cell] = draw
		}
	}
	for _, k := range settled.Keys {
		cell := reference.Cell{Metric: int(k.Metric), Key: string(k.Key)}
		w := schemas.MetricWindow{Metric: k.Metric, WindowStart: k.WindowStart, WindowEnd: k.WindowEnd}
		draw, released := want[cell]
		delete(want, cell)
		switch {
		case !released || k.WindowEnd != t.End || k.WindowEnd-k.WindowStart != t.Config.Metrics[k.Metric].WindowSize:
			a.report.differ(a.place(t, w, Difference{What: "a key was settled that should not have been released"}))
		case draw.Precision != k.Precision:
			a.report.differ(a.place(t, w, Difference{What: "a key was settled with the wrong precision"}))
		}
	}
	for cell := range want {
		d := Difference{Turn: t.Number, What: "a key was not settled that should have been released",
			Metric: t.Config.Metrics[cell.Metric].Name}
		a.report.differ(d)
	}
	for i, m := range t.Config.Metrics {
		if m.KeyMode == schemas.KeysPrivate && (i >= len(settled.FirstRungs) || settled.FirstRungs[i] != m.First) {
			a.report.differ(Difference{Turn: t.Number, What: "the price of unreleased keys differs",
				Metric: m.Name})
		}
	}
}

// compareCounts compares the published values of a turn.
func (a *auditor) compareCounts(g *generation, t *reference.Turn) {
	for _, p := range t.Published {
		from := time.UnixMilli(p.Release.WindowStart).UTC()
		d := Difference{Turn: t.Number, Metric: p.Release.Metric, Window: &from}
		published, exists := a.counts[string(p.Key)]
		delete(a.counts, string(p.Key))
		switch {
		case !exists && t.Number <= a.deletedUpTo[g.header.Topics.Counts]:
			a.report.skip(t.Number, "values: they have been deleted from %s", g.header.Topics.Counts)
		case !exists:
			d.What = "a value is missing"
			a.report.differ(d)
		case published.hash != sha256.Sum256(p.Value):
			d.What, d.Key = "a value differs", &p.Release.Key
			a.report.differ(d)
		default:
			a.report.Values++
		}
	}
}

// reportLeftovers reports published values that should not exist. A value is allowed if its turn
// was closed after the audit read control.
func (a *auditor) reportLeftovers(ctx context.Context, topic string) error {
	control := a.control
	for _, v := range a.counts {
		if _, closed := control.Closes[v.turn]; !closed && v.turn > a.control.Last && control == a.control {
			var err error
			if control, err = ReadControl(ctx, a.client, topic); err != nil {
				return err
			}
		}
		_, closed := control.Closes[v.turn]
		switch {
		case v.turn <= a.control.Last && !a.unreleased[v.turn]:
			a.report.differ(Difference{Turn: v.turn, What: "a value should not have been published", Metric: v.metric})
		case v.turn > a.control.Last && !closed:
			a.report.differ(Difference{Turn: v.turn, Metric: v.metric,
				What: "a value was published for a turn that control does not have"})
		}
	}
	return nil
}
