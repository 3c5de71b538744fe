package integration

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/audit"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// An audit without a noise key, or without the events, finds no difference but does not pass.
func TestRuleAnAuditPassesNothingThatItCannotCheck(t *testing.T) {
	t.Parallel()
	d := newMixed(t, startBrokerProcess(t), "audited", 2)
	d.load(scatter(shoppers(74).arrivals(), 2, 1))
	d.runTurns(5)
	d.change(func(c *pipeline.Config) {
		c.Keys.Noise = noisereduction.NoiseKey{ID: "k2", Secret: secret.New([32]byte{4, 2})}
	})
	d.run()
	d.verify()
	last := must.Have(d.readTrusted()).Last
	// An audit ignores foreign records, as a run does.
	for _, topic := range []string{d.compiled.Config.Outputs.Control, d.config.Outputs.Ledger} {
		foreign := must.Have(d.client.NewProducer(t.Context(), topic, 0, ""))
		must.Have(foreign.Append(t.Context(), []kafkalog.Message{{Key: []byte("foreign"), Value: []byte("foreign")}}))
	}
	without := func(missing string, o audit.Options, reason string, from, to uint64) {
		t.Helper()
		r := must.Have(audit.Run(t.Context(), d.compiled, o))
		found := slices.ContainsFunc(r.Unchecked, func(u audit.Unchecked) bool {
			return strings.Contains(u.What, reason) && u.From == from && u.To == to
		})
		if r.Differs != 0 || !found || r.Whole() || r.Turns != last {
			t.Errorf("without %s: %d differences, %+v", missing, r.Differs, r.Unchecked)
		}
		text := must.Have(json.Marshal(r))
		for owner := range d.reference().accounts {
			if bytes.Contains(text, fmt.Appendf(nil, "%x", owner.ID[:])) {
				t.Fatalf("without %s: the report has a whole account id", missing)
			}
		}
	}
	without("the first noise key", audit.Options{}, `"k1"`, 1, must.Have(d.readTrusted()).Headers[1].FromTurn-1)
	for _, edit := range []func(*pipeline.Config){
		func(c *pipeline.Config) { c.Deployment = "another" },
		func(c *pipeline.Config) { c.Keys.UserHash = secret.New([32]byte{7}) },
	} {
		other := *d.compiled
		edit(&other.Config)
		_, err := audit.Run(t.Context(), d.compiled, audit.Options{Past: []*pipeline.Deployment{&other}})
		if !errors.Is(err, pipeline.ErrHeaderMismatch) {
			t.Errorf("with the configuration of another deployment: error %v", err)
		}
	}
	for p := range int32(2) {
		end := must.Have(d.client.Offsets(t.Context(), d.config.Events.Topic, p)).High
		d.deleteRecords(d.config.Events.Topic, p, end)
	}
	without("events", audit.Options{Past: d.generations()[1:]}, "which records belong", 1, last)
}

// Missing and additional records of a topic are differences: the audit skips nothing and never
// waits for a record.
func TestRuleAnAuditSeesWhatLacksAndWhatIsTooMuch(t *testing.T) {
	t.Parallel()
	last := func(records []kafkalog.Record) *kafkalog.Record { return &records[len(records)-1] }
	for topic, c := range map[string]struct {
		edit func([]kafkalog.Record)
		want string
	}{
		"stored-control": {func(records []kafkalog.Record) {
			for i := range records {
				c := must.Have(schemas.DecodeControl(records[i].Value))
				switch body := c.Body.(type) {
				case *schemas.Header:
					body.Budget.Mu2++
				case *schemas.Close:
					body.Cuts[0].Cut += 1_000_000
				case *schemas.Settled:
					if body.Turn == 3 {
						body.Epoch-- // an older run's epoch
					}
				}
				records[i].Value = must.Have(schemas.EncodeControl(c))
			}
		}, "the events end before the turn does;the budget is greater than promised;" +
			"control has later records, but no SETTLED for the turn"},
		"stored-ledger-2": {func(records []kafkalog.Record) {
			for i := range records { // copies of the first record
				records[i].Key, records[i].Value = records[0].Key, records[0].Value
			}
		}, "the turn is missing from the ledger"},
		"stored-counts": {func(records []kafkalog.Record) {
			release := must.Have(schemas.DecodeRelease(last(records).Value))
			release.Turn, release.Key = 999, "another"
			last(records).Key = schemas.EncodeReleaseKey(release.Metric, release.WindowStart, []byte(release.Key))
			last(records).Value = must.Have(schemas.EncodeRelease(schemas.CountsEncoding{Format: schemas.CountsJSON},
				release))
			records[0].Headers[0].Value = []byte("another")
		}, "a value was published for a turn that control does not have;a record on counts is not a value"},
	} {
		d := restore(t, func(edited string, records []kafkalog.Record) {
			if edited == topic {
				c.edit(records)
			}
		})
		r := must.Have(audit.Run(patient(t), d.compiled, audit.Options{Past: d.generations()[1:]}))
		for want := range strings.SplitSeq(c.want, ";") {
			if !slices.ContainsFunc(r.Differences, func(d audit.Difference) bool { return d.What == want }) {
				t.Errorf("%s: no difference %q, but %+v", topic, want, r.Differences)
			}
		}
	}
}
