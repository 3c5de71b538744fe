package schemas

// Open permits a shard to spend a turn; it is sent once every earlier turn has been settled.
type Open struct {
	Epoch         int64
	Turn          uint64
	Contributions uint64 // number of contributions to the turn in all shards
	Shard, Shards uint32
	SettledAt     int64 // offset on control of the previous turn's first SETTLED part; −1 if there is none
	FromLedger    bool  // the turn is redone from its delta; no contributions follow

	// Group identifies the group whose reader has now sent all its contributions to the turn. The
	// turn may be spent once an OPEN for each of the Groups groups has arrived. Groups 0 means 1.
	Group, Groups uint32
}

// Partial holds one shard's contributions to the counts of one release shard in a turn.
type Partial struct {
	Epoch                                      int64
	Turn                                       uint64
	Shard, Shards, ReleaseShard, ReleaseShards uint32
	Records                                    uint64        // records of the turn in this shard
	Total                                      uint64        // records of the turn in all shards, as stated in OPEN
	Tallies                                    []MetricTally // in the Partial for release shard 0 only
	Cells                                      []Cell
}

// Cell is one shard's contribution to the count of a metric, window and key: the clipped sum over
// the shard's admitted users.
type Cell struct {
	Metric                 uint32
	WindowStart, WindowEnd int64 // Unix milliseconds
	Key                    []byte
	Count                  int64
}

// Ack reports that a release shard's values for a turn are on the counts topic.
type Ack struct {
	Epoch                       int64
	Turn                        uint64
	ReleaseShard, ReleaseShards uint32
	CountsEnd                   int64 // offset after the turn's values in the counts partition
	Tallies                     []MetricTally
	Keys                        []SettledKey
}

// turn encodes or decodes the fields with which every transport encoding begins: see PeekEpoch.
func (w *wire) turn(epoch *int64, turn *uint64) {
	w.int(epoch, "epoch")
	w.uint(turn, "turn")
}

// PeekEpoch returns the kind, epoch and turn of a transport element without decoding the rest.
// Errors: ErrMalformed, ErrVersion.
func PeekEpoch(b []byte) (kind Kind, epoch int64, turn uint64, err error) {
	if len(b) < preambleBytes {
		return 0, 0, 0, malformed(0, "shorter than its preamble")
	}
	kind = Kind(b[2])
	switch kind {
	case KindContributions, KindOpen, KindPartial, KindAck:
	default:
		return 0, 0, 0, malformed(kind, "it is not passed between stages")
	}
	r := newReader(b, kind)
	r.turn(&epoch, &turn)
	return kind, epoch, turn, r.err
}

// PeekShard returns the shard to which a transport element is sent, without decoding the rest. For
// a Partial, that is the release shard. Errors: ErrMalformed, ErrVersion.
func PeekShard(b []byte) (int, error) {
	kind, _, _, err := PeekEpoch(b)
	if err != nil {
		return 0, err
	}
	var skipped uint64
	var shard uint32
	r := newReader(b, kind)
	r.turn(new(int64), &skipped)
	switch kind {
	case KindContributions:
	case KindOpen:
		r.uint(&skipped, "contributions")
	case KindPartial:
		r.uint32(&shard, "shard")
		r.uint32(&shard, "shards")
	default:
		return 0, malformed(kind, "it has no shard")
	}
	r.uint32(&shard, "shard")
	return int(shard), r.err
}

// EncodeOpen encodes an Open.
func EncodeOpen(o Open) []byte {
	w := newWriter(nil, KindOpen)
	o.layout(w)
	return w.out
}

// DecodeOpen is the inverse of EncodeOpen. Errors: ErrMalformed, ErrVersion.
func DecodeOpen(b []byte) (Open, error) { return decode(b, KindOpen, (*Open).layout) }

func (o *Open) layout(w *wire) {
	w.turn(&o.Epoch, &o.Turn)
	w.fields("contributions", &o.Contributions, "shard", &o.Shard, "shards", &o.Shards, "settled at", &o.SettledAt,
		"from ledger", &o.FromLedger, "group", &o.Group, "groups", &o.Groups)
}

// EncodePartial encodes partial counts. Errors: ErrInvalid (a key is too long).
func EncodePartial(p Partial) ([]byte, error) { return encode(KindPartial, &p, (*Partial).layout) }

// DecodePartial is the inverse of EncodePartial. Errors: ErrMalformed, ErrVersion.
func DecodePartial(b []byte) (Partial, error) { return decode(b, KindPartial, (*Partial).layout) }

func (p *Partial) layout(w *wire) {
	w.turn(&p.Epoch, &p.Turn)
	w.fields("shard", &p.Shard, "shards", &p.Shards, "release shard", &p.ReleaseShard,
		"release shards", &p.ReleaseShards, "records", &p.Records, "total", &p.Total)
	w.metricTallies(&p.Tallies)
	var previous windows
	list(w, &p.Cells, 5, "cells", func(c *Cell, w *wire) {
		w.uint32(&c.Metric, "metric")
		previous.layout(&c.WindowStart, &c.WindowEnd, w)
		w.bytes(&c.Key, maxCellKeyBytes, "key")
		w.int(&c.Count, "count")
	})
}

// EncodeAck encodes an acknowledgement. Errors: ErrInvalid (a key is too long).
func EncodeAck(a Ack) ([]byte, error) { return encode(KindAck, &a, (*Ack).layout) }

// DecodeAck is the inverse of EncodeAck. Errors: ErrMalformed, ErrVersion.
func DecodeAck(b []byte) (Ack, error) { return decode(b, KindAck, (*Ack).layout) }

func (a *Ack) layout(w *wire) {
	w.turn(&a.Epoch, &a.Turn)
	w.fields("release shard", &a.ReleaseShard, "release shards", &a.ReleaseShards, "end of counts", &a.CountsEnd)
	w.metricTallies(&a.Tallies)
	w.settledKeys(&a.Keys)
}
