package schemas

import "fmt"

// Control is a record of the control log. A record counts only if its epoch is the last EPOCH
// before it; readers apply that rule, the codec does not.
type Control struct {
	// Back is the offset at which a reader that starts at this record must begin.
	Back int64
	// BackEpoch is the offset of the last EPOCH before Back, or −1.
	BackEpoch int64
	// Generation is the offset of the newest GENERATION before the record; without one it is 0, the
	// offset of the HEADER.
	Generation int64
	Body       ControlBody
}

// ControlBody is *Header, *Generation, *Run, *Reader, *Epoch, *Passed, *Close, *Settled, *Lost,
// *Drain, *End, *Stop, *Recover or *Forget.
type ControlBody interface {
	controlKind() Kind
	layout(w *wire) // moves the fields after Back, BackEpoch and Generation
}

// Run announces a run, or a change, before it looks at anything. The run's number is the record's
// offset, so that runs have an order that no slow start can reverse.
type Run struct {
	ID [16]byte // random
}

// Epoch begins an epoch of a run; the epoch's number is the record's offset. It counts unless a run
// of a greater number has taken an epoch before it.
type Epoch struct {
	RunID   [16]byte // the name of the run that takes the epoch
	Run     int64    // the run's number
	Settled uint64   // the greatest turn up to which every turn was settled when the epoch began
	Host    string   // host of the run, for people
	Began   int64    // Unix milliseconds, when it was taken, for people
	// Cluster and EventsID are the ids of the cluster and of the events topic that are read in the
	// epoch; zero if they are not known.
	Cluster  string
	EventsID [16]byte
}

// Stop ends all runs until a Recover: the control log and the ledger differ, or the log itself is
// at fault. It counts only if its epoch is the last EPOCH before it: the findings of a superseded
// run do not concern its successor. Reason is for the trusted side and holds no user, key or count.
type Stop struct {
	Epoch  int64
	Turn   uint64
	Reason string // at most 64 KiB
}

// Recover lifts the one Stop that an operator has looked into, and no later one.
type Recover struct {
	By   string // the operator's name; at most 64 KiB
	Stop int64  // the offset of the STOP
}

// Forget records that a user was removed from the ledger as of a settled turn. It names no user,
// and no reader obeys it: the ledger has the user's mark.
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
	return Control{}, malformed(Kind(b[2]), "no record of the control topic is of this kind")
}

func (c *Control) layout(w *wire) {
	w.int(&c.Back, "back")
	w.int(&c.BackEpoch, "back epoch")
	w.int(&c.Generation, "generation")
	c.Body.layout(w)
}

func (*Run) controlKind() Kind     { return KindRun }
func (*Epoch) controlKind() Kind   { return KindEpoch }
func (*Stop) controlKind() Kind    { return KindStop }
func (*Recover) controlKind() Kind { return KindRecover }
func (*Forget) controlKind() Kind  { return KindForget }

func (b *Run) layout(w *wire) { w.fixed(b.ID[:], "run id") }

func (e *Epoch) layout(w *wire) {
	w.fixed(e.RunID[:], "run id")
	w.int(&e.Run, "run")
	w.uint(&e.Settled, "settled")
	w.text(&e.Host, "host")
	w.int(&e.Began, "began")
	w.text(&e.Cluster, "cluster")
	w.fixed(e.EventsID[:], "id of the events topic")
}

func (s *Stop) layout(w *wire) {
	w.int(&s.Epoch, "epoch")
	w.uint(&s.Turn, "turn")
	w.text(&s.Reason, "reason")
}

func (c *Recover) layout(w *wire) {
	w.text(&c.By, "by")
	w.int(&c.Stop, "stop")
}

func (f *Forget) layout(w *wire) {
	w.int(&f.Epoch, "epoch")
	w.uint(&f.Turn, "turn")
	w.text(&f.By, "by")
	w.text(&f.Why, "why")
}
