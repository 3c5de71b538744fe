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

// Differences returns the differences between the generation in force, h, and the header of a
// configuration, want, forbidden ones first. If there are none, the configuration is in force.
func Differences(h, want *schemas.Header) []Difference {
	var all []Difference
	add := func(differs bool, what, never string, values ...Value) {
		if differs {
			all = append(all, Difference{What: what, Values: differing(values), Never: never})
		}
	}
	const other = "begin a new deployment with new keys for it"
	add(h.UserHash != want.UserHash, "the user-hash key", userHashNever(h, want),
		value("keys.user_hash", fingerprint(h.UserHash), fingerprint(want.UserHash)))
	add(h.Deployment != want.Deployment, "the deployment's name", "brokers use it to keep older runs from writing",
		value("deployment", h.Deployment, want.Deployment))
	add(h.EventsTopic != want.EventsTopic, "the events topic", other,
		value("events.topic", h.EventsTopic, want.EventsTopic))
	was, is := &h.Events, &want.Events
	add(was.User != is.User, "the position of the user in a record", "accounts could belong to other users; "+
		sameRegistry(was.User, is.User)+other, value("events.fields.user", was.User, is.User))
	add(periodOf(h) != periodOf(want), "the budget period", "it is the unit of privacy; "+other,
		value("privacy.period", cmp.Or(periodOf(h), "for life"), cmp.Or(periodOf(want), "for life")))
	add(h.Trust != want.Trust || h.AcceptFuture != want.AcceptFuture,
		"whose times are trusted, or whether events of the future count", other,
		value("time.trust", h.Trust, want.Trust), value("time.no_future", h.AcceptFuture, want.AcceptFuture))
	add(h.Zone != want.Zone, "the time zone of windows", "it decides which window and which budget period an event "+
		"belongs to; "+other, value("time.window_zone", cmp.Or(h.Zone, "UTC"), cmp.Or(want.Zone, "UTC")))
	add(h.Topics.Control != want.Topics.Control, "the control topic", "it has the deployment's history",
		value("outputs.control", h.Topics.Control, want.Topics.Control))
	add(h.Budget.Accountant != want.Budget.Accountant, "the accountant", "what was spent was promised under it",
		value("privacy.accountant", h.Budget.Accountant, want.Budget.Accountant))
	add(h.Budget.Planned.Share != want.Budget.Planned.Share, "what was spent on choosing bounds",
		"it was spent before the deployment began",
		value("privacy.planned", h.Budget.Planned.Share, want.Budget.Planned.Share))
	all = append(all, budgetDifferences(&h.Budget, &want.Budget)...)
	ledger, counts := h.Topics.Ledger == want.Topics.Ledger, h.Topics.Counts == want.Topics.Counts
	add(h.Shards != want.Shards, "the number of shards", textIf(ledger, "the ledger has a partition for each shard: "+
		"also name a new, empty ledger topic"), value("shards", h.Shards, want.Shards))
	add(h.ReleaseShards != want.ReleaseShards, "the number of release shards",
		textIf(counts, "the counts topic has a partition for each release shard: also name a new, empty counts topic"),
		value("release_shards", h.ReleaseShards, want.ReleaseShards))
	all = append(all, metricDifferences(h, want)...)
	old, now := NewestKey(h), NewestKey(want)
	add(old.ID != now.ID || old.Fingerprint != now.Fingerprint, "the noise key", keyNever(h, now),
		value("keys.noise.id", old.ID, now.ID), value("keys.noise", fingerprint(old.Fingerprint),
			fingerprint(now.Fingerprint)))
	add(h.LedgerSlots != want.LedgerSlots, "the number of ledger slots", "",
		value("ledger_slots", h.LedgerSlots, want.LedgerSlots))
	add(was.Records != is.Records, "which records are events (columns, schema, max_record_bytes)", "",
		value("events", was.Records, is.Records))
	add(was.Key != is.Key, "the position of the key in a record", "", value("events.fields.key", was.Key, is.Key))
	add(was.Time != is.Time, "the position of the time in a record, or its unit", textIf(periodOf(h) != "",
		"it decides which budget period an event belongs to, and one event could be charged to two; "+other),
		value("events.fields.time", was.Time, is.Time))
	add(was.Value != is.Value, "the position or the decimals of the value in a record", "",
		value("events.fields.value, events.decimals", was.Value, is.Value))
	add(!ledger, "the name of the ledger topic", "", value("outputs.ledger", h.Topics.Ledger, want.Topics.Ledger))
	add(!counts, "the name of the counts topic", "", value("outputs.counts", h.Topics.Counts, want.Topics.Counts))
	add(h.Topics.Turns != want.Topics.Turns, "the name of the topic of the ends of turns", "",
		value("outputs.turns", h.Topics.Turns, want.Topics.Turns))
	add(h.Counts.Format != want.Counts.Format, "the format of counts", "",
		value("outputs.counts_format", h.Counts.Format, want.Counts.Format))
	add(h.Topics.DeadLetter != want.Topics.DeadLetter, "the name of the dead-letter topic", "",
		value("outputs.dead_letter", h.Topics.DeadLetter, want.Topics.DeadLetter))
	slices.SortStableFunc(all, func(a, b Difference) int { return rank(a) - rank(b) })
	return all
}

// SchemaDifferences returns the difference if the registry's id for the schema of counts is not
// that of the generation in force, h, or if the registry has lost the schema, so that
// want.Counts.SchemaID is 0. Differences ignores the id, which only the registry knows.
func SchemaDifferences(h, want *schemas.Header) []Difference {
	if h.Counts.Format != want.Counts.Format || h.Topics.Counts != want.Topics.Counts || h.Counts == want.Counts {
		return nil
	}
	now := "the registry does not have it"
	if want.Counts.SchemaID != 0 {
		now = fmt.Sprint(want.Counts.SchemaID)
	}
	return []Difference{{What: "the id of the schema of counts",
		Values: []Value{value("outputs.registry", fmt.Sprint(h.Counts.SchemaID), now)}}}
}

// sameRegistry returns an easier remedy if only the registry's address differs.
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

// userHashNever returns the reason why the user-hash key, a change of which gives every user a new
// account, can never change like this; "" if it can. Accounts may begin anew at the end of a budget
// period, which admin.Change checks. The old ledger must stay unchanged, because the change can be
// interrupted.
func userHashNever(h, want *schemas.Header) string {
	switch {
	case periodOf(h) == "":
		return "the budget is for life, and the accounts of all users would be lost"
	case h.Topics.Ledger == want.Topics.Ledger:
		return "the ledger contains the accounts under the old key: also name a new, empty ledger topic"
	}
	return ""
}

// NewestKey returns the fingerprint of the noise key that a generation draws with.
func NewestKey(h *schemas.Header) schemas.KeyFingerprint { return h.NoiseKeys[len(h.NoiseKeys)-1] }

// keyNever returns the reason why a noise key cannot be used again; "" if it is new. Each key
// serves one range of turns, so that it can be destroyed afterwards.
func keyNever(h *schemas.Header, now schemas.KeyFingerprint) string {
	for _, k := range h.NoiseKeys {
		switch {
		case k.ID == now.ID && k.Fingerprint == now.Fingerprint:
			return "it served earlier turns: make a new key"
		case k.ID == now.ID:
			return "this id belongs to another key: give the new key another id (keys.noise.id)"
		case k.Fingerprint == now.Fingerprint:
			return "the same key was used with another id: make a new key"
		}
	}
	return ""
}

// metricDifferences compares metrics by their names. For the deployment's whole life a name belongs
// to one field, kind, filter, window and key mode. New and removed metrics come first, because they
// change the other metrics' parts of the budget.
func metricDifferences(h, want *schemas.Header) []Difference {
	var all, others []Difference
	past := append(slices.Clone(h.Past), h.AsPast())
	for i := range want.Metrics {
		m := &want.Metrics[i]
		d := Difference{What: "the metric " + m.Name}
		for _, g := range past {
			for _, old := range g.Metrics {
				if old.Name == m.Name && old != want.Identity(i) {
					d.Never = "what it counts has changed (where its fields stand, kind, filter, window or key " +
						"mode): give it a new name"
				}
			}
		}
		metric, kind := MetricNamed(h, m.Name), metrickind.Of(m.Kind)
		switch {
		case (kind.Part != nil || kind.Statistic != nil) && slices.ContainsFunc(others, func(o Difference) bool {
			return o.What == "the metric "+m.Of
		}):
			// It differs together with its metric.
		case d.Never != "" || metric >= 0 && (h.Metrics[metric].Digest() != m.Digest() || len(scaleValues(m, h, want)) >
			0):
			if metric >= 0 {
				d.Values = append(metricValues(&h.Metrics[metric], m), scaleValues(m, h, want)...)
				if d.Never != "" {
					d.Values = append(d.Values, placeValues(&h.Metrics[metric], h, want)...)
				}
			}
			others = append(others, d)
		case metric < 0 && kind.Part == nil: // a component is new together with its metric
			all = append(all, Difference{What: "the metric " + m.Name + ", which is new"})
		}
	}
	for i := range h.Metrics {
		if metrickind.Of(h.Metrics[i].Kind).Part == nil && MetricNamed(want, h.Metrics[i].Name) < 0 {
			all = append(all, Difference{What: "the metric " + h.Metrics[i].Name + ", which is gone"})
		}
	}
	all = append(all, others...)
	if len(all) == 0 && !slices.EqualFunc(h.Metrics, want.Metrics, func(a, b schemas.MetricSpec) bool {
		return a.Name == b.Name
	}) {
		all = append(all, Difference{What: "the order of the metrics, in which users are admitted"})
	}
	return all
}

// MetricNamed returns the index of a metric in a header; −1 if no metric has this name.
func MetricNamed(h *schemas.Header, name string) int {
	return slices.IndexFunc(h.Metrics, func(m schemas.MetricSpec) bool { return m.Name == name })
}

// Agrees returns deployment.ErrHeaderMismatch, with the first difference and a remedy, unless the
// configuration agrees with the generation in force, h.
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
	case len(all[0].Values) == 0: // a metric, or their order
		what, remedy = all[0].What, "undo that in the configuration, or make the change with: tollgate change"
	}
	return fmt.Errorf("comparing with generation %d on topic %s: %s: %w; %s", h.Generation, d.Config.Outputs.Control,
		what, deployment.ErrHeaderMismatch, remedy)
}
