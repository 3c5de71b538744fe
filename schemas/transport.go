package schemas

import (
	"encoding/binary"
)

// Open tells a shard that the turns First to Turn may be spent: every turn before them is settled.
type Open struct {
	Epoch         int64
	First, Turn   uint64
	Contributions uint64 // of all turns of the span, over all shards
	Shard, Shards uint32
	SettledAt     int64 // control offset of the first part of the SETTLED of turn First−1; −1 without one
	FromLedger    bool  // the turns are redone from their deltas; no contributions follow
	// Group is which of Groups readers has handed on all that it has of the turns with this OPEN:
	// they may be spent with the OPENs of all readers. Groups 0 stands for 1.
	Group, Groups uint32
}

// Partial is what one shard adds to the counts of one release shard in the turns First to Turn.
type Partial struct {
	Epoch                                      int64
	First, Turn                                uint64
	Shard, Shards, ReleaseShard, ReleaseShards uint32
	Records                                    uint64        // records of the turns in this shard
	Total                                      uint64        // records of the turns in all shards, from OPEN
	Tallies                                    []MetricTally // in the Partial for release shard 0 only
	Cells                                      []Cell
}

// Cell is what one shard adds to a count: the contributions of its admitted users to a metric,
// window and key, clipped and summed.
type Cell struct {
	Metric                 uint32
	WindowStart, WindowEnd int64 // Unix milliseconds
	Key                    []byte
	Count                  int64
}

// Ack says that a release shard's values of the turns First to Turn are on the counts topic.
type Ack struct {
	Epoch                       int64
	First, Turn                 uint64
	ReleaseShard, ReleaseShards uint32
	CountsEnd                   int64 // the offset after the turns' values, in the counts partition
	Tallies                     []MetricTally
	Keys                        []SettledKey
}

// appendTurn begins every transport encoding, so that PeekEpoch can read it.
func appendTurn(dst []byte, k Kind, epoch int64, turn uint64) []byte {
	dst = appendPreamble(dst, k)
	dst = binary.AppendVarint(dst, epoch)
	return binary.AppendUvarint(dst, turn)
}

// PeekEpoch returns what kind of transport element b is, its epoch and its turn, without decoding
// the rest. Errors: ErrMalformed, ErrVersion.
func PeekEpoch(b []byte) (kind Kind, epoch int64, turn uint64, err error) {
	if len(b) < preambleBytes {
		return 0, 0, 0, malformed(0, "shorter than its preamble")
	}
	kind = Kind(b[2])
	switch kind {
	case KindContributions, KindOpen, KindPartial, KindAck:
	default:
		return 0, 0, 0, malformed(kind, "it does not travel between stages")
	}
	d := newWireDecoder(b, kind)
	epoch, turn = d.varint("epoch"), d.uvarint("turn")
	return kind, epoch, turn, d.err
}

// PeekShard returns the shard that a transport element of SPEND is for, or the release shard of one
// of RELEASE, without decoding the rest. Errors: ErrMalformed, ErrVersion.
func PeekShard(b []byte) (int, error) {
	kind, _, _, err := PeekEpoch(b)
	if err != nil {
		return 0, err
	}
	d := newWireDecoder(b, kind)
	d.varint("epoch")
	d.uvarint("turn")
	switch kind {
	case KindContributions:
	case KindOpen:
		d.uvarint("contributions")
	case KindPartial:
		d.uint32("shard")
		d.uint32("shards")
	default:
		return 0, malformed(kind, "it is for no shard")
	}
	shard := d.uint32("shard")
	return int(shard), d.err
}

// Holds reports whether a turn is one of those that are opened.
func (o *Open) Holds(turn uint64) bool {
	return turn <= o.Turn && o.Turn-turn <= span(o.First, o.Turn)
}

// EncodeOpen encodes an Open.
func EncodeOpen(o Open) []byte {
	dst := appendTurn(nil, KindOpen, o.Epoch, o.Turn)
	dst = binary.AppendUvarint(dst, o.Contributions)
	dst = binary.AppendUvarint(dst, uint64(o.Shard))
	dst = binary.AppendUvarint(dst, uint64(o.Shards))
	dst = binary.AppendVarint(dst, o.SettledAt)
	dst = appendBool(dst, o.FromLedger)
	dst = binary.AppendUvarint(dst, uint64(o.Group))
	dst = binary.AppendUvarint(dst, uint64(o.Groups))
	return appendSpan(dst, o.First, o.Turn)
}

// DecodeOpen is the inverse of EncodeOpen. Errors: ErrMalformed, ErrVersion.
func DecodeOpen(b []byte) (Open, error) {
	d := newWireDecoder(b, KindOpen)
	o := Open{Epoch: d.varint("epoch"), Turn: d.uvarint("turn"), Contributions: d.uvarint("contributions"),
		Shard: d.uint32("shard"), Shards: d.uint32("shards"), SettledAt: d.varint("settled at"),
		FromLedger: d.bool("from ledger"), Group: d.uint32("group"), Groups: d.uint32("groups")}
	o.First = d.span(o.Turn)
	if err := d.finish(); err != nil {
		return Open{}, err
	}
	return o, nil
}

// EncodePartial encodes partial counts. Errors: ErrInvalid (a key too long, too many turns).
func EncodePartial(p Partial) ([]byte, error) {
	if what := checkSpan(p.First, p.Turn); what != "" {
		return nil, invalid(KindPartial, what)
	}
	dst := appendTurn(nil, KindPartial, p.Epoch, p.Turn)
	for _, n := range [...]uint32{p.Shard, p.Shards, p.ReleaseShard, p.ReleaseShards} {
		dst = binary.AppendUvarint(dst, uint64(n))
	}
	dst = binary.AppendUvarint(dst, p.Records)
	dst = binary.AppendUvarint(dst, p.Total)
	dst = appendMetricTallies(dst, p.Tallies)
	dst = binary.AppendUvarint(dst, uint64(len(p.Cells)))
	var start, length int64
	for i := range p.Cells {
		c := &p.Cells[i]
		if len(c.Key) > MaxKeyBytes {
			return nil, invalid(KindPartial, "key too long")
		}
		dst = binary.AppendUvarint(dst, uint64(c.Metric))
		dst = appendWindow(dst, c.WindowStart, c.WindowEnd, &start, &length)
		dst = appendBytes(dst, c.Key)
		dst = binary.AppendVarint(dst, c.Count)
	}
	return appendSpan(dst, p.First, p.Turn), nil
}

// DecodePartial is the inverse of EncodePartial. Errors: ErrMalformed, ErrVersion.
func DecodePartial(b []byte) (Partial, error) {
	d := newWireDecoder(b, KindPartial)
	p := Partial{Epoch: d.varint("epoch"), Turn: d.uvarint("turn"), Shard: d.uint32("shard"),
		Shards: d.uint32("shards"), ReleaseShard: d.uint32("release shard"), ReleaseShards: d.uint32("release shards"),
		Records: d.uvarint("records"), Total: d.uvarint("total"), Tallies: d.metricTallies()}
	p.Cells = make([]Cell, d.count("cells", 5))
	var start, length int64
	for i := range p.Cells {
		c := &p.Cells[i]
		c.Metric = d.uint32("metric")
		c.WindowStart, c.WindowEnd = d.window(&start, &length)
		c.Key = d.bytes("key", MaxKeyBytes)
		c.Count = d.varint("count")
	}
	p.First = d.span(p.Turn)
	if err := d.finish(); err != nil {
		return Partial{}, err
	}
	return p, nil
}

// EncodeAck encodes an acknowledgement. Errors: ErrInvalid (a key too long, too many turns).
func EncodeAck(a Ack) ([]byte, error) {
	if what := checkSpan(a.First, a.Turn); what != "" {
		return nil, invalid(KindAck, what)
	}
	for i := range a.Keys {
		if len(a.Keys[i].Key) > MaxKeyBytes {
			return nil, invalid(KindAck, "key too long")
		}
	}
	dst := appendTurn(nil, KindAck, a.Epoch, a.Turn)
	dst = binary.AppendUvarint(dst, uint64(a.ReleaseShard))
	dst = binary.AppendUvarint(dst, uint64(a.ReleaseShards))
	dst = binary.AppendVarint(dst, a.CountsEnd)
	dst = appendMetricTallies(dst, a.Tallies)
	return appendSpan(appendSettledKeys(dst, a.Keys), a.First, a.Turn), nil
}

// DecodeAck is the inverse of EncodeAck. Errors: ErrMalformed, ErrVersion.
func DecodeAck(b []byte) (Ack, error) {
	d := newWireDecoder(b, KindAck)
	a := Ack{Epoch: d.varint("epoch"), Turn: d.uvarint("turn"), ReleaseShard: d.uint32("release shard"),
		ReleaseShards: d.uint32("release shards"), CountsEnd: d.varint("end of counts"),
		Tallies: d.metricTallies(), Keys: d.settledKeys()}
	a.First = d.span(a.Turn)
	if err := d.finish(); err != nil {
		return Ack{}, err
	}
	return a, nil
}
