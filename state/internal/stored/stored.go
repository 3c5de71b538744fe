package stored

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"

	"github.com/tollgate-dp/tollgate/state/accounts"
)

const (
	version    = 1
	headerSize = 2
)

// Layout is had by a state S that can be stored.
//
// Where S has parts that cannot, a function or a table, it also has a method Blank() (S, bool): a
// value to read into that has those parts, or false where no constructor has set them. Without
// that method a state is read into the zero value.
type Layout[S any] interface {
	*S
	Kind() Kind
	Layout(*Codec) // names the fields, in the order of the format
}

// Value is what a type with a state S embeds: it keeps the state, and stores and resumes it.
type Value[S any, P Layout[S]] struct {
	accounts.NoJSON
	s S
}

// New returns a Value of a state.
func New[S any, P Layout[S]](s S) Value[S, P] { return Value[S, P]{s: s} }

// Of returns the state of a Value: no method, which would be one of the embedding type as well.
func Of[S any, P Layout[S]](v *Value[S, P]) P { return &v.s }

// MarshalBinary returns the parameters and all that has happened since; see "Storing and resuming"
// of the package. What is kept for each user depends on private data.
func (v Value[S, P]) MarshalBinary() ([]byte, error) {
	w, err := written[S, P](&v.s)
	if err != nil {
		return nil, fmt.Errorf("storing the state of a %v: %w", P(&v.s).Kind(), err)
	}
	return w.out, nil
}

// UnmarshalBinary resumes a stored state; see "Storing and resuming" of the package. The error is a
// *accounts.DecodeError; the receiver is as it was then.
func (v *Value[S, P]) UnmarshalBinary(data []byte) error {
	next, err := read[S, P](&v.s, data)
	if err != nil {
		return &accounts.DecodeError{What: string(P(&v.s).Kind()), Reason: err.Error()}
	}
	v.s = *next
	return nil
}

// read reads a state that receiver may become.
func read[S any, P Layout[S]](receiver P, data []byte) (P, error) {
	kind := receiver.Kind()
	if len(data) < headerSize {
		return nil, errors.New("it is shorter than its kind and version, two bytes")
	}
	if data[0] != kind.number() {
		return nil, fmt.Errorf("it is the state of another type (%s)", named(data[0]))
	}
	if data[1] != version {
		return nil, fmt.Errorf("version %d is not known here, only %d: read it with the release that wrote it, or a later one", data[1], version)
	}
	next, ok := blank[S, P](receiver)
	if !ok {
		return nil, errors.New("a state is read into what its constructor made, with the same parameters")
	}
	r := newCodec(true)
	r.data = data[headerSize:]
	if P(&next).Layout(r); r.err != nil {
		return nil, r.err
	}
	if len(r.data) != 0 {
		return nil, fmt.Errorf("%d bytes left over", len(r.data))
	}
	again, err := written[S, P](&next)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(again.out, data) {
		return nil, errors.New("it is not in the one form that such a state has")
	}
	if reflect.ValueOf(receiver).Elem().IsZero() {
		return &next, nil
	}
	own, err := written[S, P](receiver)
	switch {
	case err != nil:
		return nil, err
	case own.used:
		return nil, errors.New("it is read into a value that has been used; take a new one")
	case !bytes.Equal(own.parameters, again.parameters):
		return nil, errors.New("it has another budget or other parameters than the value that it is read into; make that with the same ones, or take the zero value where the type can have one, which takes those of the state")
	}
	return &next, nil
}

func written[S any, P Layout[S]](s P) (*Codec, error) {
	w := newCodec(false)
	w.out = append(w.out, s.Kind().number(), version)
	if _, ok := blank[S, P](s); !ok {
		return nil, errors.New("it was not made by its constructor")
	}
	s.Layout(w)
	return w, w.err
}

// blank returns what a state like s is read into.
func blank[S any, P Layout[S]](s P) (next S, ok bool) {
	if b, has := any(s).(interface{ Blank() (S, bool) }); has {
		return b.Blank()
	}
	return next, true
}
