package audit

import (
	"context"

	"github.com/tollgate-dp/tollgate/internal/app/audit/reference"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/units"
)

// compareSnapshots compares the snapshots of a turn with the accounts after the turn. It reads the
// generation's ledger and, if the next turn begins a generation with a new ledger, that ledger too.
// Unknown accounts are restored from the snapshots.
func (a *auditor) compareSnapshots(ctx context.Context, g *generation, t *reference.Turn) error {
	ledgers := [][]*Ledger{g.ledgers}
	for i := range a.generations {
		next := &a.generations[i]
		if next.header.FromTurn != t.Number+1 || next.ledgers[0] == g.ledgers[0] {
			continue
		}
		known := true
		for _, l := range g.ledgers {
			known = known && l.known
		}
		reset := next.header.UserHash != g.header.UserHash // all accounts become zero
		for _, l := range next.ledgers {
			l.known = known || reset
		}
		if !reset {
			ledgers = append(ledgers, next.ledgers)
		}
	}
	a.replay.DropForgotten(t.Number + 1)
	for _, shards := range ledgers {
		if err := a.compareLedger(ctx, shards, t); err != nil {
			return err
		}
	}
	a.replay.Forget(func(o reference.Owner) bool { return t.Config.PeriodIsOver(o.Period, t.End) })
	return nil
}

func (a *auditor) compareLedger(ctx context.Context, ledgers []*Ledger, t *reference.Turn) error {
	listedByShard := map[int]map[reference.Owner]bool{} // by shard
	for shard, l := range ledgers {
		s, err := read(ctx, a.client, l, l.snapshots, t.Number, schemas.JoinSnapshot)
		if err != nil {
			return err
		}
		switch {
		case s == nil:
		case l.known:
			listedByShard[shard] = a.compareSnapshot(t, s)
			a.report.Snapshots++
		default:
			if err := a.restore(t, l, s); err != nil {
				return err
			}
		}
	}
	if len(listedByShard) == 0 {
		return nil
	}
	for o := range a.replay.Owners {
		listed, compared := listedByShard[schemas.ShardOf(o.ID, len(ledgers))]
		if compared && !listed[o] && !t.Config.PeriodIsOver(o.Period, t.End) {
			a.report.differ(Difference{Turn: t.Number, What: "an account is missing from a snapshot", User: userOf(o)})
		}
	}
	return nil
}

// compareSnapshot compares a snapshot's accounts with the recomputed ones and returns their owners.
func (a *auditor) compareSnapshot(t *reference.Turn, s *schemas.Snapshot) map[reference.Owner]bool {
	if len(s.Forgotten) > 0 && len(a.control.Forgets) == 0 {
		a.report.differ(Difference{Turn: t.Number, What: "a snapshot has forgotten users, but control has no FORGET"})
	}
	listed := make(map[reference.Owner]bool, len(s.Accounts))
	for _, e := range s.Accounts {
		o := reference.Owner{ID: e.ID, Period: e.Period}
		listed[o] = true
		d := Difference{Turn: t.Number, User: userOf(o)}
		account, known := a.replay.Account(o)
		switch {
		case t.Config.PeriodIsOver(e.Period, t.End):
			d.What = "a snapshot has an account of a period that is over"
			a.report.differ(d)
		case !known || account.Spent != int64(e.Account.Spent):
			d.What = "the amount of an account in a snapshot differs"
			a.report.differ(d)
		default:
			for i := range t.Config.Metrics {
				m, got := &t.Config.Metrics[i], bucketOf(t, e, i)
				if m.Burst > 0 && got != account.BucketAt(m, got.At) {
					d.What, d.Metric = "the balance of an allowance in a snapshot differs", m.Name
					a.report.differ(d)
				}
			}
		}
	}
	return listed
}

// bucketOf computes a metric's bucket from the debt of an account in a snapshot.
func bucketOf(t *reference.Turn, e accounts.Entry, metric int) reference.Bucket {
	allowance, debt := t.Config.Metrics[metric].Allowance(), units.Mu2(0)
	if metric < len(e.Debts) {
		debt = e.Debts[metric]
	}
	elapsed := t.Config.Elapsed(reference.Owner{ID: e.ID, Period: e.Period}, t.End)
	missing := accounts.Lacks(debt, allowance.Paid(elapsed))
	return reference.Bucket{Metric: t.Config.Metrics[metric].Name, Balance: int64(allowance.Burst - missing),
		At: elapsed}
}

// restore restores the accounts and open slices of a shard from a snapshot.
func (a *auditor) restore(t *reference.Turn, l *Ledger, s *schemas.Snapshot) error {
	for _, e := range s.Accounts {
		account := reference.Account{Spent: int64(e.Account.Spent)}
		for i := range t.Config.Metrics {
			if t.Config.Metrics[i].Burst > 0 {
				account.Buckets = append(account.Buckets, bucketOf(t, e, i))
			}
		}
		a.replay.SetAccount(reference.Owner{ID: e.ID, Period: e.Period}, account)
	}
	for _, encoded := range s.Open {
		open, err := schemas.DecodeOpenSlice(encoded)
		if err != nil {
			return err
		}
		l.keep(open.Turn, open.Labels, open.Users)
	}
	l.known = true
	return nil
}
