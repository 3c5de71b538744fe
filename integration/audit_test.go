package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/audit"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// An audit that lacks a noise key, or events, finds no difference and does not pass the deployment.
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
	without := func(what string, o audit.Options, reason string, from, to uint64) {
		t.Helper()
		r := must.Have(audit.Run(t.Context(), d.compiled, o))
		found := slices.ContainsFunc(r.Unchecked, func(u audit.Unchecked) bool {
			return strings.Contains(u.What, reason) && u.From == from && u.To == to
		})
		if r.Differs != 0 || !found || r.Whole() || r.Turns != last {
			t.Errorf("without %s: %d differences, %+v", what, r.Differs, r.Unchecked)
		}
		text := must.Have(json.Marshal(r))
		for owner := range d.reference().accounts {
			if bytes.Contains(text, fmt.Appendf(nil, "%x", owner.ID[:])) {
				t.Fatalf("without %s: the report has a whole account id", what)
			}
		}
	}
	without("the first noise key", audit.Options{}, `"k1"`, 1, must.Have(d.readTrusted()).Headers[1].FromTurn-1)
	for p := range int32(2) {
		end := must.Have(d.client.Offsets(t.Context(), d.config.Events.Topic, p)).High
		d.deleteRecords(d.config.Events.Topic, p, end)
	}
	without("events", audit.Options{Past: d.given()[1:]}, "which records belong", 1, last)
}
