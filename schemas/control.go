package schemas

import (
	"encoding/binary"
	"fmt"
)

// Control is a record of the control log. A record counts only if its epoch is the last EPOCH
// before it; readers apply that rule, the codec does not.
type Control struct {
	// Back is the offset at which a reader that starts from this record must begin reading.
	Back int64
	// BackEpoch is the offset of the last EPOCH before Back, or −1.
	BackEpoch int64
	// Generation is the offset of the newest GENERATION before the record; without one it is 0, the
	// offset of the HEADER.
	Generation int64
	Body       ControlBody
}

// ControlBody is *Header, *Generation, *Run, *Reader, *Epoch, *Passed, *Close, *Settled, *Lost,
// *Drain, *End, *Stop or *Recover.
type ControlBody interface {
	controlKind() Kind
	check() string                // what makes the value impossible to encode, or ""
	appendBody(dst []byte) []byte // the fields after Back, BackEpoch and Generation
	readBody(d *wireDecoder)
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
}

// Stop ends all runs until a Recover: the control log and the ledger differ, or the log itself is
// at fault. It counts only if its epoch is the last EPOCH before it: what a superseded run found
// says nothing about its successor. Reason is for the trusted side and holds no user, key or count.
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

// EncodeControl encodes a control record. Errors: ErrInvalid.
func EncodeControl(c Control) ([]byte, error) {
	if c.Body == nil {
		return nil, fmt.Errorf("encoding control record: %w: no body", ErrInvalid)
	}
	if what := c.Body.check(); what != "" {
		return nil, invalid(c.Body.controlKind(), what)
	}
	dst := appendPreamble(nil, c.Body.controlKind())
	dst = binary.AppendVarint(dst, c.Back)
	dst = binary.AppendVarint(dst, c.BackEpoch)
	dst = binary.AppendVarint(dst, c.Generation)
	return c.Body.appendBody(dst), nil
}

// DecodeControl is the inverse of EncodeControl. Errors: ErrMalformed, ErrVersion.
func DecodeControl(b []byte) (Control, error) {
	body, err := controlBodyOf(b)
	if err != nil {
		return Control{}, err
	}
	d := newWireDecoder(b, body.controlKind())
	c := Control{Back: d.varint("back"), BackEpoch: d.varint("back epoch"), Generation: d.varint("generation"), Body: body}
	body.readBody(d)
	if err := d.finish(); err != nil {
		return Control{}, err
	}
	return c, nil
}

func controlBodyOf(b []byte) (ControlBody, error) {
	if len(b) < preambleBytes {
		return nil, malformed(0, "shorter than its preamble")
	}
	switch k := Kind(b[2]); k {
	case KindHeader:
		return new(Header), nil
	case KindGeneration:
		return new(Generation), nil
	case KindRun:
		return new(Run), nil
	case KindEpoch:
		return new(Epoch), nil
	case KindClose:
		return new(Close), nil
	case KindSettled:
		return new(Settled), nil
	case KindStop:
		return new(Stop), nil
	case KindRecover:
		return new(Recover), nil
	case KindReader:
		return new(Reader), nil
	case KindPassed:
		return new(Passed), nil
	case KindLost:
		return new(Lost), nil
	case KindDrain:
		return new(Drain), nil
	case KindEnd:
		return new(End), nil
	default:
		if err := unknownKind(b); err != nil {
			return nil, err
		}
		return nil, malformed(k, "no record of the control topic is of this kind")
	}
}

func (*Run) controlKind() Kind              { return KindRun }
func (*Run) check() string                  { return "" }
func (b *Run) appendBody(dst []byte) []byte { return append(dst, b.ID[:]...) }
func (b *Run) readBody(d *wireDecoder)      { b.ID = d.id("run id") }

func (*Epoch) controlKind() Kind { return KindEpoch }
func (*Epoch) check() string     { return "" }

func (e *Epoch) appendBody(dst []byte) []byte {
	return binary.AppendUvarint(binary.AppendVarint(append(dst, e.RunID[:]...), e.Run), e.Settled)
}

func (e *Epoch) readBody(d *wireDecoder) {
	e.RunID = d.id("run id")
	e.Run = d.varint("run")
	e.Settled = d.uvarint("settled")
}

func (*Stop) controlKind() Kind { return KindStop }

func (s *Stop) check() string {
	if len(s.Reason) > maxTextBytes {
		return "reason too long"
	}
	return ""
}

func (s *Stop) appendBody(dst []byte) []byte {
	dst = binary.AppendVarint(dst, s.Epoch)
	dst = binary.AppendUvarint(dst, s.Turn)
	return appendString(dst, s.Reason)
}

func (s *Stop) readBody(d *wireDecoder) {
	s.Epoch = d.varint("epoch")
	s.Turn = d.uvarint("turn")
	s.Reason = d.text("reason")
}

func (*Recover) controlKind() Kind { return KindRecover }

func (c *Recover) check() string {
	if len(c.By) > maxTextBytes {
		return "name too long"
	}
	return ""
}

func (c *Recover) appendBody(dst []byte) []byte {
	return binary.AppendVarint(appendString(dst, c.By), c.Stop)
}

func (c *Recover) readBody(d *wireDecoder) {
	c.By = d.text("by")
	c.Stop = d.varint("stop")
}
