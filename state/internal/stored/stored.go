package stored

import (
	"bytes"
	"fmt"
	"reflect"

	"github.com/tollgate-dp/tollgate/state/accounts"
)

const (
	version    = 1
	headerSize = 2
)

// Write returns the state of v. The error is that of a layout whose checks v does not pass.
func Write[T any](kind Kind, v *T, layout func(*T, *Codec)) ([]byte, error) {
	w, err := written(kind, v, layout)
	if err != nil {
		return nil, fmt.Errorf("storing the state of a %v: %w", kind, err)
	}
	return w.out, nil
}

// Read reads the state of a T. next is the value to read into, the zero value but for what a layout
// cannot read (a function, a table); receiver becomes next if all is well and is as it was
// otherwise. The error is a *accounts.DecodeError.
func Read[T any](kind Kind, receiver *T, next T, layout func(*T, *Codec), data []byte) error {
	fail := func(reason string) error { return &accounts.DecodeError{What: kind.String(), Reason: reason} }
	if len(data) < headerSize {
		return fail("it is shorter than its kind and version, two bytes")
	}
	if got := Kind(data[0]); got != kind {
		return fail(fmt.Sprintf("it is the state of another type (%v)", got))
	}
	if data[1] != version {
		return fail(fmt.Sprintf("version %d is not known here, only %d: read it with the release that wrote it, or a later one", data[1], version))
	}
	r := newCodec(true)
	r.data = data[headerSize:]
	if layout(&next, r); r.err != nil {
		return fail(r.err.Error())
	}
	if len(r.data) != 0 {
		return fail(fmt.Sprintf("%d bytes left over", len(r.data)))
	}
	again, err := written(kind, &next, layout)
	if err != nil {
		return fail(err.Error())
	}
	if !bytes.Equal(again.out, data) {
		return fail("it is not in the one form that such a state has")
	}
	if !reflect.ValueOf(receiver).Elem().IsZero() {
		own, err := written(kind, receiver, layout)
		switch {
		case err != nil:
			return fail(err.Error())
		case own.used:
			return fail("it is read into a value that has been used; take a new one")
		case !bytes.Equal(own.parameters, again.parameters):
			return fail("it has another budget or other parameters than the value that it is read into; make that with the same ones, or take the zero value where the type can have one, which takes those of the state")
		}
	}
	*receiver = next
	return nil
}

func written[T any](kind Kind, v *T, layout func(*T, *Codec)) (*Codec, error) {
	w := newCodec(false)
	w.out = append(w.out, byte(kind), version)
	layout(v, w)
	return w, w.err
}
