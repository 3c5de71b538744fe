package schemas

import (
	"github.com/tollgate-dp/tollgate/internal/base/numbers/wallclock"
	"github.com/tollgate-dp/tollgate/state/budgets"
)

// Header is the first record of the control log, and the body of every later generation: the
// promise of a deployment. A run refuses to start unless its configuration agrees with the newest.
type Header struct {
	Incarnation [16]byte // random; part of the input of every noise draw
	Generation  uint32
	NoiseKeys   []KeyFingerprint
	UserHash    [32]byte // fingerprint of the user-hash key
	Budget      budgets.Budget

	Shards, ReleaseShards, LedgerSlots uint32

	// By and Why are the author of the generation and the reason for it, as given by the operator;
	// "" if none was given.
	By, Why string

	// Deployment is the prefix of the transactional ids that fence older runs.
	Deployment  string
	StartMillis int64 // events before it belong to no turn; Unix milliseconds
	EventsTopic string
	// Events describes how the records of EventsTopic are decoded. Its filters are in the order of
	// the function Filters.
	Events EventIdentity
	// Trust and NoFuture limit the trust in the times of events.
	Trust    string
	NoFuture bool
	// Zone is the time zone by whose clock windows and budget periods begin: see package wallclock.
	// "" is UTC. The times in a header are moments, of no zone.
	Zone string

	Metrics []MetricSpec
	Topics  Topics
	// Counts is the encoding of this generation's values on Topics.Counts: a turn that is redone
	// gives the same bytes.
	Counts CountsEncoding

	// FromTurn is the first turn of this generation: 1 in a HEADER. It begins at SliceStart, where
	// the turn before it ends: StartMillis in a HEADER. No window of the generation begins before
	// that. Unix milliseconds.
	FromTurn   uint64
	SliceStart int64
	// Past has the generations before this one, oldest first.
	Past []PastGeneration
	// Before has the allowances behind the ledger's debts of accounts when the generation begins,
	// in their order: the allowances of the last generation that settled a turn.
	Before []MetricAllowance
}

// EventIdentity describes how a format decodes records. Two formats of the same identity decode
// every record alike. If they agree in User, every record that is an event in both has the same
// user in both, and likewise for Key, Time, Value and each of Filters: the text describes the place
// of a field in the bytes and its decoding, not its name. The texts are for people, too.
type EventIdentity struct {
	// Records, together with the other texts, determines which records are events at all.
	Records                string
	User, Key, Time, Value string // Value is "" without a value field
	// Filters has, by filter of the format, the fields that the filter names.
	Filters []string
}

// KeyFingerprint names a noise key and the first turn whose noise is drawn from it.
type KeyFingerprint struct {
	ID          string
	FromTurn    uint64
	Fingerprint [32]byte
}

// Topics has the names of the deployment's own topics.
type Topics struct {
	Counts, Control, Ledger, DeadLetter string
	Turns                               string // the ends of turns, for consumers
}

func (*Header) controlKind() Kind { return KindHeader }

func (h *Header) layout(w *wire) {
	w.fixed(h.Incarnation[:], "incarnation")
	w.uint32(&h.Generation, "generation")
	list(w, &h.NoiseKeys, 34, "noise keys", func(k *KeyFingerprint, w *wire) {
		w.text(&k.ID, "noise key id")
		w.uint(&k.FromTurn, "noise key turn")
		w.fixed(k.Fingerprint[:], "noise key fingerprint")
	})
	w.fixed(h.UserHash[:], "user hash fingerprint")
	w.float(&h.Budget.Epsilon, "epsilon")
	w.float(&h.Budget.Delta, "delta")
	w.text((*string)(&h.Budget.Accountant), "accountant")
	w.uint((*uint64)(&h.Budget.Mu2), "budget")
	w.delta(&h.Budget.Keys, "key budget")
	for _, n := range [...]*uint32{&h.Shards, &h.ReleaseShards, &h.LedgerSlots} {
		w.uint32(n, "shards")
	}
	w.int(&h.StartMillis, "start")
	e, t := &h.Events, &h.Topics
	for _, s := range [...]*string{&h.Deployment, &h.EventsTopic, &e.Records, &e.User, &e.Key, &e.Time, &e.Value,
		&h.Trust,
		&t.Counts, &t.Control, &t.Ledger, &t.DeadLetter, &t.Turns, (*string)(&h.Counts.Format), &h.By, &h.Why} {
		w.text(s, "names")
	}
	w.uint32(&h.Counts.SchemaID, "schema of counts")
	if what := h.Counts.check(); what != "" {
		w.fail(what)
	}
	w.bool(&h.NoFuture, "future test")
	// The shortest metric has more than 48 bytes: four floats, eight texts, numbers.
	list(w, &h.Metrics, 48, "metrics", (*MetricSpec).layout)
	elements(w, &e.Filters, len(Filters(h.Metrics)), "fields of filters", func(f *string, w *wire) {
		w.text(f, "fields of a filter")
	})
	h.layoutPast(w)
	// A deployment that planned nothing and counts in UTC has nothing more, and one in UTC no zone.
	if p := &h.Budget.Planned; w.more(*p != budgets.Planned{} || h.Zone != "") {
		w.float(&p.Share, "planned share")
		w.uint((*uint64)(&p.Mu2), "planned part of the budget")
		w.delta(&p.Keys, "planned part of the key budget")
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
