package changes

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/event"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// Difference and Value are short names for deployment.Difference and deployment.Value.
type (
	Difference = deployment.Difference
	Value      = deployment.Value
)

// Differences returns the differences between h, the header of the generation in force, and want,
// the header of a configuration. Forbidden differences come first. If there are none at all, the
// configuration is in force.
func Differences(h, want *schemas.Header) []Difference {
	var all []Difference
	add := func(differs bool, what, never string, values ...Value) {
		if differs {
			all = append(all, Difference{What: what, Values: onlyDiffering(values), Never: never})
		}
	}
	const other = "begin a new deployment with new keys for it"
	add(h.UserHash != want.UserHash, "the user-hash key", whyUserHashNever(h, want),
		value("keys.user_hash", fingerprint(h.UserHash), fingerprint(want.UserHash)))
	add(h.Deployment != want.Deployment, "the deployment's name", "brokers use it to keep older runs from writing",
		value("deployment", h.Deployment, want.Deployment))
	add(h.EventsTopic != want.EventsTopic, "the events topic", other,
		value("events.topic", h.EventsTopic, want.EventsTopic))
	before, after := &h.Events, &want.Events
	add(before.User != after.User, "the position of the user in a record", "accounts could belong to other users; "+
		sameRegistry(before.User, after.User)+other, value("events.fields.user", before.User, after.User))
	add(periodOf(h) != periodOf(want), "the budget period", "it is the unit of privacy; "+other,
		value("privacy.period", cmp.Or(periodOf(h), "for life"), cmp.Or(periodOf(want), "for life")))
	add(h.Trust != want.Trust || h.AcceptFuture != want.AcceptFuture,
		"whose times are trusted, or whether future events count", other,
		value("time.trust", h.Trust, want.Trust), value("time.no_future", h.AcceptFuture, want.AcceptFuture))
	add(h.Zone != want.Zone, "the time zone of windows", "it decides which window and which budget period an event "+
		"belongs to; "+other, value("time.window_zone", cmp.Or(h.Zone, "UTC"), cmp.Or(want.Zone, "UTC")))
	add(h.Topics.Control != want.Topics.Control, "the control topic", "it contains the deployment's history",
		value("outputs.control", h.Topics.Control, want.Topics.Control))
	add(h.Budget.Accountant != want.Budget.Accountant, "the accountant", "the budget was spent under this accountant",
		value("privacy.accountant", h.Budget.Accountant, want.Budget.Accountant))
	add(h.Budget.Planned.Share != want.Budget.Planned.Share, "what was spent on choosing bounds",
		"it was spent before the deployment began",
		value("privacy.planned", h.Budget.Planned.Share, want.Budget.Planned.Share))
	all = append(all, budgetDifferences(&h.Budget, &want.Budget)...)
	sameLedger, sameCounts := h.Topics.Ledger == want.Topics.Ledger, h.Topics.Counts == want.Topics.Counts
	add(h.Shards != want.Shards, "the number of shards", textIf(sameLedger, "the ledger has a partition for each "+
		"shard: also name a new, empty ledger topic"), value("shards", h.Shards, want.Shards))
	add(h.ReleaseShards != want.ReleaseShards, "the number of release shards",
		textIf(sameCounts, "the counts topic has a partition for each release shard: also name a new, empty "+
			"counts topic"),
		value("release_shards", h.ReleaseShards, want.ReleaseShards))
	all = append(all, metricDifferences(h, want)...)
	oldKey, newKey := NewestKey(h), NewestKey(want)
	add(oldKey.ID != newKey.ID || oldKey.Fingerprint != newKey.Fingerprint, "the noise key", whyKeyNever(h, newKey),
		value("keys.noise.id", oldKey.ID, newKey.ID), value("keys.noise", fingerprint(oldKey.Fingerprint),
			fingerprint(newKey.Fingerprint)))
	add(h.LedgerSlots != want.LedgerSlots, "the number of ledger slots", "",
		value("ledger_slots", h.LedgerSlots, want.LedgerSlots))
	add(before.Records != after.Records, "which records are events (columns, schema, max_record_bytes)", "",
		value("events", before.Records, after.Records))
	add(before.Key != after.Key, "the position of the key in a record", "",
		value("events.fields.key", before.Key, after.Key))
	add(before.Time != after.Time, "the position of the time in a record, or its unit", textIf(periodOf(h) != "",
		"it decides which budget period an event belongs to, and one event could be charged to two; "+other),
		value("events.fields.time", before.Time, after.Time))
	add(before.Value != after.Value, "the position or the decimals of the value in a record", "",
		value("events.fields.value, events.decimals", before.Value, after.Value))
	add(!sameLedger, "the name of the ledger topic", "", value("outputs.ledger", h.Topics.Ledger, want.Topics.Ledger))
	add(!sameCounts, "the name of the counts topic", "", value("outputs.counts", h.Topics.Counts, want.Topics.Counts))
	add(h.Topics.Turns != want.Topics.Turns, "the name of the topic of the ends of turns", "",
		value("outputs.turns", h.Topics.Turns, want.Topics.Turns))
	add(h.Counts.Format != want.Counts.Format, "the format of counts", "",
		value("outputs.counts_format", h.Counts.Format, want.Counts.Format))
	add(h.Topics.DeadLetter != want.Topics.DeadLetter, "the name of the dead-letter topic", "",
		value("outputs.dead_letter", h.Topics.DeadLetter, want.Topics.DeadLetter))
	slices.SortStableFunc(all, func(a, b Difference) int { return rank(a) - rank(b) })
	return all
}

// SchemaDifferences returns a difference if the registry's id for the schema of counts is not that
// of the generation in force, h, or is gone from the registry: want.Counts.SchemaID is then 0.
// Differences ignores the id, which only the registry knows.
func SchemaDifferences(h, want *schemas.Header) []Difference {
	if h.Counts.Format != want.Counts.Format || h.Topics.Counts != want.Topics.Counts || h.Counts == want.Counts {
		return nil
	}
	newID := "the registry does not have it"
	if want.Counts.SchemaID != 0 {
		newID = fmt.Sprint(want.Counts.SchemaID)
	}
	return []Difference{{What: "the id of the schema of counts",
		Values: []Value{value("outputs.registry", fmt.Sprint(h.Counts.SchemaID), newID)}}}
}

// sameRegistry returns an easier remedy if only the registry's address differs; otherwise "".
func sameRegistry(was, is string) string {
	return textIf(event.OtherRegistry(was, is),
		"if it is the same registry, make its old name point to the new address; otherwise ")
}

func rank(d Difference) int {
	if d.Never != "" {
		return 0
	}
	return 1
}

func textIf(cond bool, text string) string {
	if cond {
		return text
	}
	return ""
}

func periodOf(h *schemas.Header) string { return h.Metrics[0].Period }

// whyUserHashNever returns why the user-hash key can never change like this, or "" if it can.
// Another key gives every user a new account. That is possible only at the end of a budget period,
// which admin.Change checks. The old ledger must stay unchanged, because the change can be
// interrupted.
func whyUserHashNever(h, want *schemas.Header) string {
	switch {
	case periodOf(h) == "":
		return "the budget is for life, and the accounts of all users would be lost"
	case h.Topics.Ledger == want.Topics.Ledger:
		return "the ledger contains the accounts under the old key: also name a new, empty ledger topic"
	}
	return ""
}

// NewestKey returns the fingerprint of the noise key with which a generation draws noise.
func NewestKey(h *schemas.Header) schemas.KeyFingerprint { return h.NoiseKeys[len(h.NoiseKeys)-1] }

// whyKeyNever returns why a noise key cannot be used again, or "" if it is new. Each key serves one
// range of turns, so that it can be destroyed afterwards.
func whyKeyNever(h *schemas.Header, newKey schemas.KeyFingerprint) string {
	for _, k := range h.NoiseKeys {
		switch {
		case k.ID == newKey.ID && k.Fingerprint == newKey.Fingerprint:
			return "it was used for earlier turns: create a new key"
		case k.ID == newKey.ID:
			return "this id belongs to another key: give the new key another id (keys.noise.id)"
		case k.Fingerprint == newKey.Fingerprint:
			return "the same key was used with another id: create a new key"
		}
	}
	return ""
}

// metricDifferences compares metrics by name. During the life of a deployment, a name belongs to
// one field, kind, filter, window and key mode. New and removed metrics come first, because they
// change the budget parts of the other metrics.
func metricDifferences(h, want *schemas.Header) []Difference {
	var all, changed []Difference
	past := append(slices.Clone(h.Past), h.AsPast())
	for i := range want.Metrics {
		m := &want.Metrics[i]
		d := Difference{What: "the metric " + m.Name}
		for _, g := range past {
			for _, old := range g.Metrics {
				if old.Name == m.Name && old != want.Identity(i) {
					d.Never = "what it counts has changed (where its fields stand, kind, filter, window or key " +
						"mode): give the metric a new name, and run tollgate change"
				}
			}
		}
		metric, kind := MetricNamed(h, m.Name), metrickind.Of(m.Kind)
		switch {
		case (kind.Part != nil || kind.Statistic != nil) && slices.ContainsFunc(changed, func(o Difference) bool {
			return o.What == "the metric "+m.Of
		}):
			// The component differs because its metric does, which is reported.
		case d.Never != "" || metric >= 0 && (h.Metrics[metric].Digest() != m.Digest() || len(scaleValues(m, h, want)) >
			0):
			if metric >= 0 {
				d.Values = append(metricValues(&h.Metrics[metric], m), scaleValues(m, h, want)...)
				if d.Never != "" {
					d.Values = append(d.Values, placeValues(&h.Metrics[metric], h, want)...)
				}
			}
			changed = append(changed, d)
		case metric < 0 && kind.Part == nil: // the metric of a new component is reported
			all = append(all, Difference{What: "the metric " + m.Name + ", which is new"})
		}
	}
	for i := range h.Metrics {
		if metrickind.Of(h.Metrics[i].Kind).Part == nil && MetricNamed(want, h.Metrics[i].Name) < 0 {
			all = append(all, Difference{What: "the metric " + h.Metrics[i].Name + ", which is gone"})
		}
	}
	all = append(all, changed...)
	if len(all) == 0 && !slices.EqualFunc(h.Metrics, want.Metrics, func(a, b schemas.MetricSpec) bool {
		return a.Name == b.Name
	}) {
		all = append(all, Difference{What: "the order of the metrics, in which users are admitted"})
	}
	return all
}

// MetricNamed returns the index of a metric in a header, or −1 if no metric has this name.
func MetricNamed(h *schemas.Header, name string) int {
	return slices.IndexFunc(h.Metrics, func(m schemas.MetricSpec) bool { return m.Name == name })
}

// Agrees returns deployment.ErrHeaderMismatch, with the first difference and a remedy, unless the
// configuration agrees with h, the header of the generation in force.
func Agrees(d *deployment.Deployment, h *schemas.Header) error {
	want := Header(d)
	all := Differences(h, &want)
	if len(all) == 0 {
		return nil
	}
	what, remedy := all[0].What+" differs"+all[0].Detail(),
		"restore the value in force, or make the change with: tollgate change"
	switch {
	case all[0].Never != "":
		remedy = all[0].Never + "; or restore the value in force"
	case len(all[0].Values) == 0: // a metric, or the order of the metrics
		what, remedy = all[0].What, "undo that in the configuration, or make the change with: tollgate change"
	}
	return fmt.Errorf("comparing with generation %d on topic %s: %s: %w; %s", h.Generation, d.Config.Outputs.Control,
		what, deployment.ErrHeaderMismatch, remedy)
}
