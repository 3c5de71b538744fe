package schemas

import (
	"cmp"
	"encoding/binary"

	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/units"
)

// Header is the first record of the control log, and the body of every later generation: what a
// deployment has promised. A run refuses to start unless its configuration agrees with the newest.
type Header struct {
	Incarnation [16]byte // random; part of the input of every noise draw
	Generation  uint32
	NoiseKeys   []KeyFingerprint
	UserHash    [32]byte // fingerprint of the user-hash key
	Budget      budgets.Budget

	Shards, ReleaseShards, LedgerSlots uint32

	// Deployment is the prefix of the transactional ids by which older runs are fenced.
	Deployment  string
	StartMillis int64 // events before it belong to no turn; Unix milliseconds
	EventsTopic string
	// Events says how the records of EventsTopic are decoded. Its filters are in the order of the
	// function Filters.
	Events EventIdentity
	// Trust and NoFuture say how far the times of events are believed.
	Trust    string
	NoFuture bool

	Metrics []MetricSpec
	Topics  Topics
	// Counts says how the values of this generation are written to Topics.Counts: a turn that is
	// redone gives the same bytes.
	Counts CountsEncoding

	// FromTurn is the first turn of this generation: 1 in a HEADER. Its slice begins at SliceStart,
	// where the turn before it ends: StartMillis in a HEADER. Unix milliseconds.
	FromTurn   uint64
	SliceStart int64
	// MetricStarts has, by metric, the time before which no window of the metric begins: a metric
	// that was added, or whose public keys were changed, has no window that begins before the
	// change. Unix milliseconds.
	MetricStarts []int64
	// Past has the generations before this one, oldest first.
	Past []PastGeneration
}

// EventIdentity says how a format decodes records. Two formats of the same identity decode every
// record alike. Where they agree in User, every record that is an event in both has the same user
// in both, and so for Key, Time, Value and each of Filters: it says where a field stands in the
// bytes and how it is read, not what it is called. The texts are for people, too.
type EventIdentity struct {
	// Records says, together with the other texts, which records are events at all.
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

func (h *Header) check() string {
	texts := append(h.names(), string(h.Budget.Accountant))
	texts = append(texts, h.Events.Filters...)
	for _, k := range h.NoiseKeys {
		texts = append(texts, k.ID)
	}
	for _, s := range texts {
		if len(s) > maxTextBytes {
			return "a name is too long"
		}
	}
	if !finite(h.Budget.Epsilon) || !finite(h.Budget.Delta) {
		return "the budget is not finite"
	}
	if p := h.Budget.Planned; p != (budgets.Planned{}) && !(p.Share > 0 && p.Share < 1) {
		return "the planned share is not between 0 and 1"
	}
	for i := range h.Metrics {
		if what := h.Metrics[i].check(); what != "" {
			return what
		}
	}
	return cmp.Or(h.Counts.check(), h.checkEvents(), h.checkPast())
}

func (h *Header) checkEvents() string {
	if len(h.Events.Filters) != len(Filters(h.Metrics)) {
		return "filters and their fields differ in number"
	}
	return ""
}

// names returns the texts that every header has once.
func (h *Header) names() []string {
	e := &h.Events
	return []string{h.Deployment, h.EventsTopic, e.Records, e.User, e.Key, e.Time, e.Value, h.Trust,
		h.Topics.Counts, h.Topics.Control, h.Topics.Ledger, h.Topics.DeadLetter,
		h.Topics.Turns, string(h.Counts.Format)}
}

func (h *Header) appendBody(dst []byte) []byte {
	dst = append(dst, h.Incarnation[:]...)
	dst = binary.AppendUvarint(dst, uint64(h.Generation))
	dst = binary.AppendUvarint(dst, uint64(len(h.NoiseKeys)))
	for _, k := range h.NoiseKeys {
		dst = appendString(dst, k.ID)
		dst = binary.AppendUvarint(dst, k.FromTurn)
		dst = append(dst, k.Fingerprint[:]...)
	}
	dst = append(dst, h.UserHash[:]...)
	dst = appendFloat(dst, h.Budget.Epsilon)
	dst = appendFloat(dst, h.Budget.Delta)
	dst = appendString(dst, string(h.Budget.Accountant))
	dst = binary.AppendUvarint(dst, uint64(h.Budget.Mu2))
	dst = appendDelta(dst, h.Budget.Keys)
	for _, n := range [...]uint32{h.Shards, h.ReleaseShards, h.LedgerSlots} {
		dst = binary.AppendUvarint(dst, uint64(n))
	}
	dst = binary.AppendVarint(dst, h.StartMillis)
	for _, s := range h.names() {
		dst = appendString(dst, s)
	}
	dst = binary.AppendUvarint(dst, uint64(h.Counts.SchemaID))
	dst = appendBool(dst, h.NoFuture)
	dst = binary.AppendUvarint(dst, uint64(len(h.Metrics)))
	for _, m := range h.Metrics {
		dst = appendMetricSpec(dst, m)
	}
	for _, f := range h.Events.Filters { // as many as the metrics have different filters
		dst = appendString(dst, f)
	}
	dst = h.appendPast(dst)
	if p := h.Budget.Planned; p.Share != 0 { // a deployment that planned nothing has nothing here
		dst = appendFloat(dst, p.Share)
		dst = binary.AppendUvarint(dst, uint64(p.Mu2))
		dst = appendDelta(dst, p.Keys)
	}
	return dst
}

func (h *Header) readBody(d *wireDecoder) {
	h.Incarnation = d.id("incarnation")
	h.Generation = d.uint32("generation")
	n := d.count("noise keys", 34)
	h.NoiseKeys = make([]KeyFingerprint, n)
	for i := range h.NoiseKeys {
		h.NoiseKeys[i] = KeyFingerprint{ID: d.text("noise key id"), FromTurn: d.uvarint("noise key turn"),
			Fingerprint: d.digest("noise key fingerprint")}
	}
	h.UserHash = d.digest("user hash fingerprint")
	h.Budget.Epsilon = d.float("epsilon")
	h.Budget.Delta = d.float("delta")
	h.Budget.Accountant = budgets.Accountant(d.text("accountant"))
	h.Budget.Mu2 = units.Mu2(d.uvarint("budget"))
	h.Budget.Keys = d.delta("key budget")
	for _, v := range [...]*uint32{&h.Shards, &h.ReleaseShards, &h.LedgerSlots} {
		*v = d.uint32("shards")
	}
	h.StartMillis = d.varint("start")
	e := &h.Events
	for _, s := range [...]*string{&h.Deployment, &h.EventsTopic, &e.Records, &e.User, &e.Key, &e.Time, &e.Value, &h.Trust,
		&h.Topics.Counts, &h.Topics.Control, &h.Topics.Ledger, &h.Topics.DeadLetter,
		&h.Topics.Turns, (*string)(&h.Counts.Format)} {
		*s = d.text("names")
	}
	h.Counts.SchemaID = d.uint32("schema of counts")
	if what := h.Counts.check(); d.err == nil && what != "" {
		d.fail(what)
	}
	h.NoFuture = d.bool("future test")
	// The shortest metric has more than 48 bytes: four floats, eight texts, numbers.
	n = d.count("metrics", 48)
	h.Metrics = make([]MetricSpec, 0, n)
	for i := 0; i < n && d.err == nil; i++ {
		h.Metrics = append(h.Metrics, d.metricSpec())
	}
	if d.err == nil {
		e.Filters = make([]string, len(Filters(h.Metrics)))
		for i := range e.Filters {
			e.Filters[i] = d.text("fields of a filter")
		}
	}
	h.readPast(d)
	if d.err == nil && len(d.rest) > 0 {
		p := &h.Budget.Planned
		p.Share = d.float("planned share")
		p.Mu2 = units.Mu2(d.uvarint("planned part of the budget"))
		p.Keys = d.delta("planned part of the key budget")
		if d.err == nil && !(p.Share > 0 && p.Share < 1) {
			d.fail("the planned share is not between 0 and 1")
		}
	}
}
