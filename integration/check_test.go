package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/audit/reference"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas"
)

func bigOf(n uint64) *big.Int { return new(big.Int).SetUint64(n) }

// published are the values on the counts topic by key, with the turn of each.
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

// chargeable is invariant 3: whatever is published has all deltas of its turn, and of all turns of
// its span, on the ledger. Counts are read first, so that a pipeline that is running cannot make it
// fail.
func (d *deployment) chargeable() error {
	counts, err := d.readCounts()
	if err != nil {
		return err
	}
	tr, err := d.readTrusted()
	if err != nil {
		return err
	}
	for _, published := range counts.turns {
		span := tr.closes[published]
		for turn := span.First; turn <= span.Turn; turn++ {
			if !tr.completeTurn(turn) {
				return fmt.Errorf("values of turn %d are published and a delta of turn %d is missing", published, turn)
			}
		}
	}
	return nil
}

// check compares everything that a deployment has written with the reference and returns all that
// is wrong.
func (d *deployment) check() error { return d.checkAgainst(d.eventLog()) }

// checkAgainst is check for events that may be gone from the topic.
func (d *deployment) checkAgainst(log reference.Log) error {
	counts, err := d.readCounts()
	if err != nil {
		return err
	}
	tr, err := d.readTrusted()
	if err != nil {
		return err
	}
	cuts := reference.Cuts{}
	for turn, c := range tr.closes {
		if !d.clocked {
			break
		}
		cuts[turn] = map[int32]int64{}
		for _, cut := range c.Cuts {
			cuts[turn][cut.Partition] = cut.Cut
		}
	}
	config := d.referenceConfig()
	config.First = tr.first
	d.paid = map[reference.Owner][]paid{}
	config.Paid = func(o reference.Owner, metric string, end int64, cost *big.Int) {
		d.paid[o] = append(d.paid[o], paid{metric, end, cost})
	}
	want, err := reference.Run(config, log, cuts, tr.last)
	if err != nil {
		return fmt.Errorf("running the reference: %w", err)
	}
	// accounts of periods that were over before the last change are nowhere now
	if ends := config.TurnEnds(config.From); config.From > 1 {
		before := config.Before
		for before.Before != nil && before.From >= config.From { // it had no turn
			before = before.Before
		}
		maps.DeleteFunc(want.Accounts, func(o reference.Owner, _ reference.Account) bool {
			leftBehind := before.UserHash != config.UserHash && o.Period < config.Since/config.Period
			return leftBehind || before.PeriodIsOver(o.Period, ends[config.From-2])
		})
	}
	d.verified = &want
	accounts, err := d.accounts(tr)
	if err == nil {
		err = compareAccounts(accounts, want)
	}
	return errors.Join(compareCounts(counts, want), err, d.compareTallies(want), d.checkFences())
}

func compareCounts(got published, want reference.Output) error {
	var wrong []string
	for _, p := range want.Published {
		value, ok := got.values[string(p.Key)]
		switch {
		case !ok:
			wrong = append(wrong, fmt.Sprintf("turn %d: %s %q is missing", p.Release.Turn, p.Release.Metric,
				p.Release.Key))
		case !bytes.Equal(value, p.Value):
			release, _ := schemas.DecodeRelease(value)
			wrong = append(wrong, fmt.Sprintf("turn %d: %s %q is %s, want %s for a count of %d",
				p.Release.Turn, p.Release.Metric, p.Release.Key, brief(release), brief(p.Release), p.Count))
		}
		delete(got.values, string(p.Key))
	}
	for key := range got.values {
		wrong = append(wrong, fmt.Sprintf("turn %d: a value too many", got.turns[key]))
	}
	return summary("counts", wrong)
}

func brief(r schemas.Release) string {
	return fmt.Sprintf("%.3f ± %.3f (%d rungs, met %v, generation %d, turn %d)", float64(r.Value)/1024, r.StdDev,
		r.Rungs, r.Met, r.Generation, r.Turn)
}

// summary makes one error of many findings and shows the first ones.
func summary(what string, wrong []string) error {
	if len(wrong) == 0 {
		return nil
	}
	return fmt.Errorf("%s: %d differences:\n%s", what, len(wrong), strings.Join(wrong[:min(5, len(wrong))], "\n"))
}

func compareAccounts(got map[reference.Owner]reference.Account, want reference.Output) error {
	var wrong []string
	for owner, account := range want.Accounts {
		have, ok := got[owner]
		if !ok {
			wrong = append(wrong, fmt.Sprintf("an account of period %d with %v is missing", owner.Period,
				account.Spent))
			continue
		}
		if have.Spent.Cmp(account.Spent) != 0 {
			wrong = append(wrong, fmt.Sprintf("an account of period %d has spent %v, want %v", owner.Period, have.Spent,
				account.Spent))
		}
	}
	if len(got) > len(want.Accounts) {
		wrong = append(wrong, fmt.Sprintf("%d accounts, want %d", len(got), len(want.Accounts)))
	}
	return summary("accounts", wrong)
}

func (d *deployment) compareTallies(want reference.Output) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	got, err := pipeline.TrustedReport(ctx, d.compiled)
	if err != nil {
		return fmt.Errorf("asking for the trusted report: %w", err)
	}
	r, w := got, want.Tallies.Records
	var wrong []string
	if r.Read != w.Read || r.Skipped != w.Skipped || r.BeforeStart != w.BeforeStart || r.Late != w.Late ||
		r.Future != w.Future ||
		r.Overtaken != w.Overtaken || r.Accepted != w.Accepted || !maps.Equal(r.DeadLettered, w.DeadLettered) {
		wrong = append(wrong, fmt.Sprintf("%+v, want %+v", r, w))
	}
	reported := map[string]bool{}
	for _, m := range got.Metrics {
		i := slices.Index(want.Tallies.Names, m.Metric)
		reported[m.Metric] = true
		have := reference.MetricTallies{Filtered: m.Filtered, Beyond: m.Beyond, Counted: m.Counted, Open: m.Open,
			GivenUp: m.GivenUp}
		if have != want.Tallies.Metrics[i] {
			wrong = append(wrong, fmt.Sprintf("metric %s %+v, want %+v", m.Metric, have, want.Tallies.Metrics[i]))
		}
	}
	for i, name := range want.Tallies.Names {
		if !reported[name] && want.Tallies.Metrics[i] != (reference.MetricTallies{}) {
			wrong = append(wrong, fmt.Sprintf("metric %s is missing, want %+v", name, want.Tallies.Metrics[i]))
		}
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
