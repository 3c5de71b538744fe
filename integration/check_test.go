package integration

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tollgate-dp/tollgate/internal/app/audit"
	"github.com/tollgate-dp/tollgate/internal/app/audit/reference"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/units"
)

// published is the content of the counts topics, by Kafka key.
type published struct {
	values map[string][]byte
	turns  map[string]uint64
}

// readCounts reads the counts topics of all generations. A key with two values is an error
// (invariant 2).
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
				return p, fmt.Errorf("counts record %d/%d has the type %q", shard, r.Offset, kind)
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

// chargeable returns an error unless the ledger has all deltas of each published turn (invariant
// 3). It reads counts first, so a running pipeline cannot make it fail.
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

// completeTurn reports whether every shard has its delta of a turn, or a snapshot that includes it.
func (d *deployment) completeTurn(turn uint64) bool {
	d.t.Helper()
	for shard := range d.config.Shards {
		l := must.Have(audit.OpenLedger(d.t.Context(), d.client, d.config.Keys.UserHash.Reveal(),
			d.config.Outputs.Ledger, shard, func(audit.Difference) {}))
		if !l.Complete(turn) {
			return false
		}
	}
	return true
}

// readTrusted reads control. A difference that the audit finds on it is an error.
func (d *deployment) readTrusted() (*audit.Control, error) {
	tr, err := audit.ReadControl(d.t.Context(), d.client, d.config.Outputs.Control)
	if err == nil && len(tr.Differences) > 0 {
		err = fmt.Errorf("control: %+v", tr.Differences)
	}
	return tr, err
}

// verified has the values that an audit has recomputed.
type verified struct {
	turns    []*reference.Turn
	accounts map[reference.Owner]reference.Account // past periods included
	tallies  reference.Tallies
	paid     map[reference.Owner][]paid // charges of each individual, in order
}

// check audits a deployment and returns all differences as one error.
func (d *deployment) check() error {
	v := &verified{accounts: map[reference.Owner]reference.Account{}, paid: map[reference.Owner][]paid{}}
	report, err := audit.Run(d.t.Context(), d.compiled, audit.Options{
		Past: d.generations()[1:], Tail: true, Observe: func(r *reference.Replay, t *reference.Turn) {
			v.turns = append(v.turns, t)
			for _, m := range slices.Concat(t.Members...) {
				for _, part := range m.Parts {
					stopped := func(metric int, key string) units.Precision {
						return t.Stopped[reference.Cell{Metric: metric, Key: key}]
					}
					cost := t.Config.Price(part.Metric, part.Contribution, stopped)
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

// checkAgainst is check for an events topic that another client has read.
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

// compareTallies compares the trusted report with the tallies of the audit.
func (d *deployment) compareTallies(want reference.Tallies) error {
	got, err := pipeline.TrustedReport(patient(d.t), d.compiled)
	if err != nil {
		return fmt.Errorf("asking for the trusted report: %w", err)
	}
	r, w := got, want.Records
	if r.Read != w.Read || r.Skipped != w.Skipped || r.BeforeStart != w.BeforeStart || r.Late != w.Late ||
		r.Future != w.Future || r.Overtaken != w.Overtaken || r.Accepted != w.Accepted ||
		!maps.Equal(r.DeadLettered, w.DeadLettered) {
		return fmt.Errorf("tallies of records: %+v, want %+v", r, w)
	}
	metrics := map[string]*reference.MetricTallies{}
	for _, m := range got.Metrics {
		tallies := reference.MetricTallies{WindowTally: schemas.WindowTally{Filtered: m.Filtered, Beyond: m.Beyond,
			Counted: m.Counted}, Open: m.Open, GivenUp: m.GivenUp}
		if want.Metrics[m.Metric] != nil || tallies != (reference.MetricTallies{}) {
			metrics[m.Metric] = &tallies
		}
	}
	if diff := cmp.Diff(want.Metrics, metrics, cmpopts.EquateEmpty()); diff != "" {
		return fmt.Errorf("tallies of metrics (-want +got):\n%s", diff)
	}
	return nil
}

// verify fails the test if check finds a difference.
func (d *deployment) verify() {
	d.t.Helper()
	if err := d.check(); err != nil {
		d.t.Fatalf("%s: %v", d.config.Deployment, err)
	}
}

// sameReleases compares the published values of two deployments with the same configuration.
func sameReleases(t testing.TB, a, b *deployment) {
	t.Helper()
	x := must.Have(a.readCounts())
	y := must.Have(b.readCounts())
	if !maps.EqualFunc(x.values, y.values, bytes.Equal) {
		t.Errorf("%s and %s published different values", a.config.Deployment, b.config.Deployment)
	}
}
