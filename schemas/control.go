package schemas

import "fmt"

// Control is a record of the control log. The codec accepts a record of any epoch: readers must
// ignore a record whose epoch is not the last EPOCH before it.
type Control struct {
	Back       int64 // offset at which a reader that starts at this record must begin
	BackEpoch  int64 // offset of the last EPOCH before Back, or −1
	Generation int64 // offset of the newest GENERATION before the record, or 0 for the HEADER
	Body       ControlBody
}

// ControlBody is one of *Header, *Generation, *Run, *Reader, *Epoch, *Passed, *Close, *Settled,
// *Lost, *Drain, *End, *Stop, *Recover or *Forget.
type ControlBody interface {
	controlKind() Kind
	layout(w *wire) // encodes or decodes the fields after Back, BackEpoch and Generation
}

// Run announces a run or a change. It is written before the run or change reads anything. The
// record's offset is the run's number, so a slow start cannot change the order of runs.
type Run struct {
	ID [16]byte // random
}

// Epoch begins an epoch of a run. The record's offset is the epoch's number. The record is void if
// a run with a greater number already has an epoch.
type Epoch struct {
	RunID    [16]byte // random id of the run
	Run      int64    // the run's number
	Settled  uint64   // when the epoch began, every turn up to this one was settled
	Host     string   // host of the run, for human readers
	Began    int64    // start of the epoch in Unix milliseconds, for human readers
	Cluster  string   // id of the Kafka cluster; "" if unknown
	EventsID [16]byte // id of the events topic; zero if unknown
}

// Stop ends all runs, and none can start until a Recover, because the control log contradicts the
// ledger or itself. A Stop is valid only if its epoch is the last EPOCH before it, so a superseded
// run cannot stop its successor.
type Stop struct {
	Epoch  int64
	Turn   uint64
	Reason string // for the trusted side; contains no user, key or count; at most 64 KiB
}

// Recover lifts one Stop, which an operator has examined.
type Recover struct {
	By   string // the operator's name; at most 64 KiB
	Stop int64  // offset of the STOP
}

// Forget records that a user was removed from the ledger as of a settled turn. It does not name the
// user and affects no reader; the ledger contains the user's mark.
type Forget struct {
	Epoch   int64
	Turn    uint64
	By, Why string // at most 64 KiB each
}

// EncodeControl encodes a control record. Errors: ErrInvalid.
func EncodeControl(c Control) ([]byte, error) {
	if c.Body == nil {
		return nil, fmt.Errorf("encoding control record: %w: no body", ErrInvalid)
	}
	return encode(c.Body.controlKind(), &c, (*Control).layout)
}

// DecodeControl is the inverse of EncodeControl. Errors: ErrMalformed, ErrVersion.
func DecodeControl(b []byte) (Control, error) {
	if len(b) < preambleBytes {
		return Control{}, malformed(0, "shorter than its preamble")
	}
	bodies := [...]ControlBody{new(Header), new(Generation), new(Run), new(Reader), new(Epoch), new(Passed), new(Close),
		new(Settled), new(Lost), new(Drain), new(End), new(Stop), new(Recover), new(Forget)}
	for _, body := range bodies {
		if k := body.controlKind(); k == Kind(b[2]) {
			return decode(b, k, func(c *Control, w *wire) {
				c.Body = body
				c.layout(w)
			})
		}
	}
	if err := unknownKind(b); err != nil {
		return Control{}, err
	}
	return Control{}, malformed(Kind(b[2]), "the control topic has no records of this kind")
}

func (c *Control) layout(w *wire) {
	w.fields("back", &c.Back, "back epoch", &c.BackEpoch, "generation", &c.Generation)
	c.Body.layout(w)
}

func (*Run) controlKind() Kind     { return KindRun }
func (*Epoch) controlKind() Kind   { return KindEpoch }
func (*Stop) controlKind() Kind    { return KindStop }
func (*Recover) controlKind() Kind { return KindRecover }
func (*Forget) controlKind() Kind  { return KindForget }

func (b *Run) layout(w *wire)     { w.fields("run id", b.ID[:]) }
func (s *Stop) layout(w *wire)    { w.fields("epoch", &s.Epoch, "turn", &s.Turn, "reason", &s.Reason) }
func (c *Recover) layout(w *wire) { w.fields("by", &c.By, "stop", &c.Stop) }
func (f *Forget) layout(w *wire) {
	w.fields("epoch", &f.Epoch, "turn", &f.Turn, "by", &f.By, "why", &f.Why)
}

func (e *Epoch) layout(w *wire) {
	w.fields("run id", e.RunID[:], "run", &e.Run, "settled", &e.Settled, "host", &e.Host, "began", &e.Began,
		"cluster", &e.Cluster, "id of the events topic", e.EventsID[:])
}
