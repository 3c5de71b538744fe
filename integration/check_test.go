package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/audit"
	"github.com/tollgate-dp/tollgate/internal/app/audit/reference"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/units"
)

// published is what stands on the counts topic: key → value, with the turn of each.
type published struct {
	values map[string][]byte
	turns  map[string]uint64
}

// readCounts reads the counts topic. It fails where a key has two values (invariant 2) and where a
// record of an earlier epoch's owner stands after a later fence with a new key (invariant 9: such a
// record may repeat, never add).
func (d *deployment) readCounts() (published, error) {
	p := published{values: map[string][]byte{}, turns: map[string]uint64{}}
	var records [][]kafkalog.Record
	for i, g := range append(slices.Clone(d.past), generation{config: d.config}) {
		if i > 0 && d.past[i-1].config.Outputs.Counts == g.config.Outputs.Counts {
			continue
		}
		for shard := range int32(g.config.ReleaseShards) {
			records = append(records, d.records(g.config.Outputs.Counts, shard))
		}
	}
	for shard := range records {
		for _, r := range records[shard] {
			kind := ""
			for _, h := range r.Headers {
				if h.Key == "tollgate-type" {
					kind = string(h.Value)
				}
			}
			if kind == "" {
				continue // another program's
			}
			if kind != "release" {
				return p, fmt.Errorf("counts record %d/%d is a %s and no count", shard, r.Offset, kind)
			}
			release, err := schemas.DecodeRelease(r.Value)
			if err != nil {
				return p, fmt.Errorf("counts record %d/%d: %w", shard, r.Offset, err)
			}
			key := string(r.Key)
			if known, again := p.values[key]; again && !bytes.Equal(known, r.Value) {
				return p, fmt.Errorf("%s of turn %d was published with two values", release.Metric, release.Turn)
			}
			p.values[key], p.turns[key] = r.Value, release.Turn
		}
	}
	return p, nil
}

// chargeable is invariant 3: whatever is published has all deltas of its turn on the ledger. Counts
// are read first, so that a pipeline that is running cannot make it fail.
func (d *deployment) chargeable() error {
	counts, err := d.readCounts()
	if err != nil {
		return err
	}
	complete := map[uint64]bool{}
	for _, published := range counts.turns {
		if _, known := complete[published]; !known {
			complete[published] = d.completeTurn(published)
		}
		if !complete[published] {
			return fmt.Errorf("values of turn %d are published and a delta of it is missing", published)
		}
	}
	return nil
}

// completeTurn reports whether every shard has its delta of a turn, or a snapshot that holds it.
func (d *deployment) completeTurn(turn uint64) bool {
	d.t.Helper()
	for shard := range d.config.Shards {
		l := must.Have(audit.OpenLedger(d.t.Context(), d.client, d.config.Keys.UserHash.Reveal(),
			d.config.Outputs.Ledger, shard,
			func(audit.Difference) {}))
		if !l.Complete(turn) {
			return false
		}
	}
	return true
}

// readTrusted reads control and reports what must never be there.
func (d *deployment) readTrusted() (*audit.Control, error) {
	tr, err := audit.ReadControl(d.t.Context(), d.client, d.config.Outputs.Control)
	if err == nil && len(tr.Differences) > 0 {
		err = fmt.Errorf("control: %+v", tr.Differences)
	}
	return tr, err
}

// verified is what an audit has recomputed.
type verified struct {
	turns    []*reference.Turn
	accounts map[reference.Owner]reference.Account // also those of periods that are over
	tallies  reference.Tallies
	paid     map[reference.Owner][]paid // the charges of each individual, in order
}

// check audits a deployment and returns all that is wrong.
func (d *deployment) check() error {
	v := &verified{accounts: map[reference.Owner]reference.Account{}, paid: map[reference.Owner][]paid{}}
	report, err := audit.Run(d.t.Context(), d.compiled, audit.Options{
		Past: d.given()[1:], Tail: true, Observe: func(r *reference.Replay, t *reference.Turn) {
			v.turns = append(v.turns, t)
			for _, m := range slices.Concat(t.Members...) {
				for _, part := range m.Parts {
					cost := t.Config.Price(part.Metric, part.Contribution, func(at int, key string) units.Precision {
						return t.Stopped[reference.Cell{Metric: at, Key: key}]
					})
					if part.Admitted && cost > 0 {
						v.paid[m.Owner] = append(v.paid[m.Owner], paid{t.Config.Metrics[part.Metric].Name, t.End, cost})
					}
				}
				if account, known := r.Account(m.Owner); known {
					v.accounts[m.Owner] = account
				}
			}
		}})
	if err != nil {
		return fmt.Errorf("auditing: %w", err)
	}
	v.tallies = report.Tallies
	d.verified = v
	switch {
	case report.Differs > 0:
		err = fmt.Errorf("%d differences:\n%s", report.Differs, brief(report.Differences))
	case len(report.Unchecked) > 0 && !d.eventsGone:
		err = fmt.Errorf("unchecked: %+v", report.Unchecked)
	case report.Tallies.Records.Overtaken > 0 && !d.clocked:
		err = fmt.Errorf("%d records were overtaken, and no clock closed a turn", report.Tallies.Records.Overtaken)
	}
	if !d.eventsGone {
		err = errors.Join(err, d.compareTallies(report.Tallies))
	}
	return errors.Join(err, d.checkFences())
}

// checkAgainst is check for a topic that another client has read.
func (d *deployment) checkAgainst(log events) error {
	d.sameLog(log)
	return d.check()
}

// brief shows the first differences.
func brief(all []audit.Difference) string {
	var lines []string
	for _, d := range all[:min(8, len(all))] {
		lines = append(lines, string(must.Have(json.Marshal(d))))
	}
	return strings.Join(lines, "\n")
}

// summary makes one error of many findings and shows the first ones.
func summary(what string, wrong []string) error {
	if len(wrong) == 0 {
		return nil
	}
	return fmt.Errorf("%s: %d differences:\n%s", what, len(wrong), strings.Join(wrong[:min(5, len(wrong))], "\n"))
}

func (d *deployment) compareTallies(want reference.Tallies) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	got, err := pipeline.TrustedReport(ctx, d.compiled)
	if err != nil {
		return fmt.Errorf("asking for the trusted report: %w", err)
	}
	r, w := got, want.Records
	var wrong []string
	if r.Read != w.Read || r.Skipped != w.Skipped || r.BeforeStart != w.BeforeStart || r.Late != w.Late ||
		r.Future != w.Future ||
		r.Overtaken != w.Overtaken || r.Accepted != w.Accepted || !maps.Equal(r.DeadLettered, w.DeadLettered) {
		wrong = append(wrong, fmt.Sprintf("%+v, want %+v", r, w))
	}
	missing := maps.Clone(want.Metrics)
	for _, m := range got.Metrics {
		have := reference.MetricTallies{WindowTally: schemas.WindowTally{Filtered: m.Filtered, Beyond: m.Beyond,
			Counted: m.Counted}, Open: m.Open, GivenUp: m.GivenUp}
		expected := missing[m.Metric]
		if delete(missing, m.Metric); expected == nil {
			expected = &reference.MetricTallies{}
		}
		if have != *expected {
			wrong = append(wrong, fmt.Sprintf("metric %s %+v, want %+v", m.Metric, have, *expected))
		}
	}
	for name, m := range missing {
		wrong = append(wrong, fmt.Sprintf("metric %s is missing, want %+v", name, *m))
	}
	return summary("tallies", wrong)
}

// verify fails the test unless everything is right.
func (d *deployment) verify() {
	d.t.Helper()
	if err := d.check(); err != nil {
		d.t.Fatalf("%s: %v", d.config.Deployment, err)
	}
}

// sameReleases compares the published values of two deployments of the same configuration.
func sameReleases(t testing.TB, a, b *deployment) {
	t.Helper()
	x := must.Have(a.readCounts())
	y := must.Have(b.readCounts())
	if !maps.EqualFunc(x.values, y.values, bytes.Equal) {
		t.Errorf("%s and %s published different values", a.config.Deployment, b.config.Deployment)
	}
}
