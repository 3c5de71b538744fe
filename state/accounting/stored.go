package accounting

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"

	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/internal/fixed"
)

// formatVersion is the first byte of every stored state.
const formatVersion = 1

// header is the beginning of a stored state: version, name, parameters and limits, with big-endian
// numbers. A state is read only into a value with an equal header.
type header struct {
	name  string
	bytes []byte
}

func newHeader(name string, parameters []float64, limits []fixed.Amount) header {
	b := append([]byte{formatVersion, byte(len(name))}, name...)
	b = binary.BigEndian.AppendUint32(b, uint32(len(parameters)))
	for _, v := range parameters {
		b = binary.BigEndian.AppendUint64(b, math.Float64bits(v))
	}
	return header{name, appendAmounts(binary.BigEndian.AppendUint32(b, uint32(len(limits))), limits...)}
}

// cut returns the bytes of data after the header. The error is an *accounts.DecodeError.
func (h header) cut(data []byte) ([]byte, error) {
	if rest, ok := bytes.CutPrefix(data, h.bytes); ok {
		return rest, nil
	}
	return nil, h.refuse("its rule, version, parameters or budget differ from those of the value that reads it")
}

func (h header) refuse(reason string) error {
	return &accounts.DecodeError{What: h.name, Reason: reason}
}

func (h header) errUsed() error {
	return h.refuse("it is read into a value that has been used; make a new one")
}

func appendAmounts(b []byte, amounts ...fixed.Amount) []byte {
	for _, a := range amounts {
		raw := a.Bytes()
		b = append(b, raw[:]...)
	}
	return b
}

// amounts decodes data, which must hold exactly n amounts.
func (h header) amounts(data []byte, n int) ([]fixed.Amount, error) {
	if len(data) != n*fixed.Size {
		return nil, h.refuse("it is truncated or has bytes left over")
	}
	amounts := make([]fixed.Amount, n)
	for i := range amounts {
		amounts[i] = fixed.FromBytes([fixed.Size]byte(data[i*fixed.Size:]))
	}
	return amounts, nil
}

func allZero(amounts []fixed.Amount) bool {
	return !slices.ContainsFunc(amounts, func(a fixed.Amount) bool { return !a.IsZero() })
}

// MarshalBinary returns the rule, the budget and the amounts; see the package comment.
func (f *Filter[L]) MarshalBinary() ([]byte, error) {
	if f.rule == nil {
		return nil, header{name: "Filter"}.refuse("it was not made by a constructor")
	}
	return appendAmounts(slices.Clone(f.rule.bytes), f.amounts()...), nil
}

// amounts returns the spent amount of every sum, followed by the reserved amount of the first sum.
func (f *Filter[L]) amounts() []fixed.Amount {
	amounts := make([]fixed.Amount, 0, len(f.meters)+1)
	for i := range f.meters {
		amounts = append(amounts, f.meters[i].Taken())
	}
	return append(amounts, f.meters[0].Reserved())
}

// UnmarshalBinary resumes a stored state; see the package comment.
func (f *Filter[L]) UnmarshalBinary(data []byte) error {
	if f.rule == nil {
		return header{name: "Filter"}.refuse("read it into a value from a constructor, with the same parameters")
	}
	rest, err := f.rule.cut(data)
	if err != nil {
		return err
	}
	if !allZero(f.amounts()) {
		return f.rule.errUsed()
	}
	meters, err := f.resumed(rest)
	if err == nil {
		f.meters = meters
	}
	return err
}

// resumed returns meters with the stored amounts in data.
func (f *Filter[L]) resumed(data []byte) ([]fixed.Meter, error) {
	n := len(f.rule.limits)
	amounts, err := f.rule.amounts(data, n+1)
	if err != nil {
		return nil, err
	}
	meters, reserved := make([]fixed.Meter, n), amounts[n]
	for i, limit := range f.rule.limits {
		var ok bool
		if meters[i], ok = fixed.ResumeMeter(limit, amounts[i], reserved); !ok {
			return nil, f.rule.refuse("more is spent and reserved than the budget has")
		}
		reserved = fixed.Amount{}
	}
	// The tolerance is needed because another machine's logarithm may differ in its last bits.
	if b := f.rule.condition; b != nil && !b.allows(meters, make([]fixed.Amount, n), 1+0x1p-40) {
		return nil, f.rule.refuse("more is spent than the budget has")
	}
	return meters, nil
}

// MarshalBinary returns the rule, its parameters and the sums; see the package comment.
func (o *Odometer[L, B]) MarshalBinary() ([]byte, error) {
	if o.rule == nil {
		return nil, header{name: "Odometer"}.refuse("it was not made by a constructor")
	}
	return appendAmounts(slices.Clone(o.rule.bytes), o.recorded...), nil
}

// UnmarshalBinary resumes a stored state; see the package comment.
func (o *Odometer[L, B]) UnmarshalBinary(data []byte) error {
	if o.rule == nil {
		return header{name: "Odometer"}.refuse("read it into a value from a constructor, with the same parameters")
	}
	rest, err := o.rule.cut(data)
	if err != nil {
		return err
	}
	if !allZero(o.recorded) {
		return o.rule.errUsed()
	}
	recorded, err := o.rule.amounts(rest, len(o.recorded))
	if err == nil {
		o.recorded = recorded
	}
	return err
}
