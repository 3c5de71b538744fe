package audit

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/app/audit/reference"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/connect"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/units"
)

// Options configures an audit. All fields are optional.
type Options struct {
	Past     []*deployment.Deployment // configurations of earlier generations, which supply keys and event formats
	Logger   *slog.Logger
	Progress func(percent uint64) // called at 10%, 20%, …
	// Tail makes Report.Tallies include the records after the last settled turn.
	Tail bool
	// Observe is called after each turn has been charged.
	Observe func(*reference.Replay, *reference.Turn)
}

// auditor audits one deployment.
type auditor struct {
	Options
	client       *kafkalog.Client
	control      *Control
	report       *Report
	replay       *reference.Replay
	generations  []generation
	events       []*events
	counts       map[string]countsValue
	deletedUpTo  map[string]uint64 // by topic with deleted records: the last turn whose values may have been deleted
	completeFrom uint64            // all events of this turn and of later turns can be read
	unreleased   map[uint64]bool   // turns whose releases could not be recomputed
}

// generation is one generation of the deployment, with its ledgers and its known keys.
type generation struct {
	header   *schemas.Header
	ledgers  []*Ledger
	hasher   *schemas.Hasher // nil if the user-hash key is unknown
	keyFault string          // the reason why the noise key is unknown; "" if it is known
}

// events reads one partition of the events topic.
type events struct {
	reader *kafkalog.RangeReader
	start  int64 // offset of the first record that still exists and can be decoded
	next   int64 // offset of the next record to read
	end    int64 // offset after the last record when the audit began
	id     int32
}

// countsValue represents a published value by its hash.
type countsValue struct {
	turn   uint64
	metric string
	hash   [32]byte
}

// Run audits a deployment up to its last settled turn. Errors: deployment.ErrHeaderMismatch if a
// configuration belongs to another deployment, an error for a damaged record on control or a
// ledger, or the broker's error.
func Run(ctx context.Context, d *deployment.Deployment, o Options) (*Report, error) {
	client, err := connect.Dial(ctx, d.Config.Kafka, o.Logger)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	a := &auditor{Options: o, client: client, report: &Report{Differences: []Difference{}, Unchecked: []Unchecked{}},
		counts: map[string]countsValue{}, deletedUpTo: map[string]uint64{}, unreleased: map[uint64]bool{},
		completeFrom: 1}
	if a.control, err = ReadControl(ctx, client, d.Config.Outputs.Control); err != nil {
		return nil, err
	}
	if err := a.prepare(ctx, d); err != nil {
		return nil, err
	}
	for turn := uint64(1); turn <= a.control.Last; turn++ {
		if err := a.turn(ctx, turn); err != nil {
			return nil, fmt.Errorf("auditing turn %d: %w", turn, err)
		}
		if tenth := turn * 10 / a.control.Last; o.Progress != nil && tenth > (turn-1)*10/a.control.Last {
			o.Progress(10 * tenth)
		}
	}
	if err := a.reportLeftovers(ctx, d.Config.Outputs.Control); err != nil {
		return nil, err
	}
	if o.Tail {
		for _, e := range a.events {
			offsets, err := client.Offsets(ctx, e.reader.Topic, e.id)
			if err == nil {
				err = a.readTo(ctx, e, offsets.LastStable)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	a.report.Tallies = a.replay.Tallies()
	return a.report, nil
}

// turn audits one turn.
func (a *auditor) turn(ctx context.Context, turn uint64) error {
	if err := a.readEvents(ctx, turn); err != nil {
		return err
	}
	a.compareClose(turn)
	t := a.replay.Begin()
	g := &a.generations[t.Config.Generation-1]
	deltas, err := a.readDeltas(ctx, g, t)
	if err != nil {
		return err
	}
	fromEvents, complete := a.gather(g, t, deltas)
	a.replay.Decide(t)
	switch {
	case complete && g.keyFault == "":
		if err := a.replay.Release(t); err != nil {
			return err
		}
		a.compareSettled(t)
		a.compareCounts(g, t)
	case complete:
		a.report.skip(turn, "precisions and values: %s", g.keyFault)
		fallthrough
	default:
		a.useSettledPrecisions(t)
		a.unreleased[turn] = true
	}
	a.compareDeltas(g, t, deltas, fromEvents)
	if err := a.replay.Charge(t); err != nil {
		return err
	}
	if a.Observe != nil {
		a.Observe(a.replay, t)
	}
	return a.compareSnapshots(ctx, g, t)
}

// gather collects the members of a turn from the events. If events of the turn's windows are gone,
// it collects them from the ledger instead, and fromEvents is false. complete reports whether all
// members and their accounts are known.
func (a *auditor) gather(g *generation, t *reference.Turn, deltas []*schemas.Delta) (fromEvents, complete bool) {
	windows, known := t.Config.Ending(t.End), true
	for _, l := range g.ledgers {
		known = known && l.known
	}
	first := t.Number
	for _, w := range windows {
		first = min(first, a.replay.TurnAt(w.WindowStart))
	}
	if known && first >= a.completeFrom {
		a.replay.Gather(t)
		return true, true
	}
	complete = true
	for shard, l := range g.ledgers {
		if g.hasher == nil || deltas[shard] == nil || !l.has(first, t.Number) {
			a.dropAccounts(g, l)
		}
		if !l.known {
			complete = false
			continue
		}
		a.replay.GatherFrom(t, a.membersOf(g.hasher, t, l, deltas[shard]))
	}
	if !complete {
		a.report.skip(t.Number,
			"admissions, charges and values: neither the events nor the ledger can be read any more")
	}
	return false, complete
}

// dropAccounts drops the accounts of a shard, because the audit can no longer compute them.
func (a *auditor) dropAccounts(g *generation, l *Ledger) {
	if l.known {
		l.known = false
		a.replay.Forget(func(o reference.Owner) bool { return schemas.ShardOf(o.ID, len(g.ledgers)) == l.shard })
	}
}

// membersOf returns the members of a shard whom the ledger admits to any window of a turn.
func (a *auditor) membersOf(h *schemas.Hasher, t *reference.Turn, l *Ledger,
	d *schemas.Delta) (members []*reference.Member) {
	for _, user := range d.Users {
		m := &reference.Member{Owner: reference.Owner{ID: user.ID, Period: user.Period}}
		a.join(h, m, t, l, d, user)
		if len(m.Parts) > 0 {
			members = append(members, m)
		}
	}
	return members
}

// join adds to m a part for each window to which the ledger admits the user.
func (a *auditor) join(h *schemas.Hasher, m *reference.Member, t *reference.Turn, l *Ledger, d *schemas.Delta,
	user schemas.DeltaUser) {
	for i, w := range d.Windows {
		if user.Admitted.Get(i) {
			visits := l.visits(t.Config, int(w.Metric), m.Owner, a.replay.TurnAt(w.WindowStart), t.Number)
			m.Join(t.Config, h, int(w.Metric), visits)
		}
	}
}

// useSettledPrecisions sets t.Stopped to the precisions in the turn's SETTLED record.
func (a *auditor) useSettledPrecisions(t *reference.Turn) {
	settled := a.control.Settled[t.Number]
	t.Stopped = map[reference.Cell]units.Precision{}
	for _, k := range settled.Keys {
		t.Stopped[reference.Cell{Metric: int(k.Metric), Key: string(k.Key)}] = k.Precision
	}
	for _, m := range slices.Concat(t.Members...) {
		for _, part := range m.Parts {
			for _, k := range part.Keys {
				cell := reference.Cell{Metric: part.Metric, Key: k.Key}
				if t.Stopped[cell].IsZero() && t.Config.Metrics[part.Metric].KeyMode != schemas.KeysFrom {
					t.Stopped[cell] = settled.FirstRungs[part.Metric]
				}
			}
		}
	}
}
