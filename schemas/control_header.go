package schemas

import (
	"github.com/tollgate-dp/tollgate/internal/base/numbers/wallclock"
	"github.com/tollgate-dp/tollgate/state/budgets"
)

// Header describes a deployment. It is the first record of the control log and the body of every
// Generation. A run refuses to start unless its configuration agrees with the newest Header.
type Header struct {
	Incarnation [16]byte // random; part of the input of every noise draw
	Generation  uint32
	NoiseKeys   []KeyFingerprint
	UserHash    [32]byte // fingerprint of the user-hash key
	Budget      budgets.Budget

	Shards, ReleaseShards, LedgerSlots uint32

	By, Why      string // author of the generation and reason for it, if the operator stated them
	Deployment   string // prefix of the transactional ids that fence older runs
	StartMillis  int64  // Unix milliseconds; earlier events belong to no turn
	EventsTopic  string
	Events       EventIdentity // how records of EventsTopic are decoded
	Trust        string        // whose event times are trusted
	AcceptFuture bool          // whether event times in the future are accepted
	// Zone is the time zone in which windows and budget periods begin (package wallclock); "" is
	// UTC. The times in a header are instants and do not depend on it.
	Zone string

	Metrics []MetricSpec
	Topics  Topics
	Counts  CountsEncoding // encoding of this generation's values, fixed so that a redone turn gives the same bytes

	FromTurn   uint64 // first turn of this generation; 1 in a HEADER
	SliceStart int64  // start of FromTurn; no window starts earlier; Unix milliseconds; StartMillis in a HEADER

	Past []PastGeneration // generations before this one, oldest first
	// Before lists the allowances under which the ledger's debts arose, in the order of the debts:
	// the allowances of the last generation that settled a turn.
	Before []MetricAllowance
}

// EventIdentity describes, for programs and users, how a format decodes records. Two formats with
// the same identity decode every record alike. Two formats that share only User assign the same
// user to every record that is an event in both; likewise for Key, Time, Value and each filter. A
// description states where a field is in the bytes and how it is decoded, not its name.
type EventIdentity struct {
	Records                string   // together with the other descriptions, determines which records are events
	User, Key, Time, Value string   // Value is "" without a value field
	Filters                []string // fields that each filter reads, in the order of the function Filters
}

// KeyFingerprint identifies a noise key, with the first turn that uses the key.
type KeyFingerprint struct {
	ID          string
	FromTurn    uint64
	Fingerprint [32]byte
}

// Topics names the deployment's own topics.
type Topics struct {
	Counts, Control, Ledger, DeadLetter string
	Turns                               string // ends of turns, for consumers
}

func (*Header) controlKind() Kind { return KindHeader }

func (h *Header) layout(w *wire) {
	w.fields("incarnation", h.Incarnation[:], "generation", &h.Generation)
	list(w, &h.NoiseKeys, 34, "noise keys", func(k *KeyFingerprint, w *wire) {
		w.fields("noise key id", &k.ID, "noise key turn", &k.FromTurn, "noise key fingerprint", k.Fingerprint[:])
	})
	b, e, t := &h.Budget, &h.Events, &h.Topics
	w.fields("user hash fingerprint", h.UserHash[:], "epsilon", &b.Epsilon, "delta", &b.Delta,
		"accountant", (*string)(&b.Accountant), "budget", &b.Mu2, "key budget", &b.Keys)
	w.fields("shards", &h.Shards, "release shards", &h.ReleaseShards, "ledger slots", &h.LedgerSlots,
		"start", &h.StartMillis, "deployment", &h.Deployment, "events topic", &h.EventsTopic)
	w.fields("records", &e.Records, "user", &e.User, "key", &e.Key, "time", &e.Time, "value", &e.Value,
		"trust", &h.Trust)
	w.fields("counts topic", &t.Counts, "control topic", &t.Control, "ledger topic", &t.Ledger,
		"dead-letter topic", &t.DeadLetter, "turns topic", &t.Turns)
	w.fields("format of counts", (*string)(&h.Counts.Format), "by", &h.By, "why", &h.Why,
		"schema of counts", &h.Counts.SchemaID, "future test", &h.AcceptFuture)
	if what := h.Counts.check(); what != "" {
		w.fail(what)
	}
	// The shortest metric takes more than 48 bytes: four floats, eight texts, numbers.
	list(w, &h.Metrics, 48, "metrics", (*MetricSpec).layout)
	elements(w, &e.Filters, len(Filters(h.Metrics)), "fields of filters", func(f *string, w *wire) {
		w.text(f, "fields of a filter")
	})
	h.layoutPast(w)
	// Without a planned share, the remaining fields are omitted if the zone is UTC. With a planned
	// share, only the zone is omitted if it is UTC.
	if p := &h.Budget.Planned; w.more(*p != budgets.Planned{} || h.Zone != "") {
		w.fields("planned share", &p.Share, "planned part of the budget", &p.Mu2,
			"planned part of the key budget", &p.Keys)
		zone := w.more(h.Zone != "")
		w.check(p.Share > 0 && p.Share < 1 || zone && *p == budgets.Planned{},
			"the planned share is not between 0 and 1")
		if zone {
			w.text(&h.Zone, "time zone")
			zone, err := wallclock.Load(h.Zone)
			w.check(zone != nil && err == nil, "this machine does not know the time zone")
		}
	}
}
