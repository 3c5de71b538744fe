package hook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime"
)

// Hook opens a resource that a transform needs. Its type must be a struct or a pointer to a struct,
// registered with beam.RegisterType. Only the exported fields reach the worker. If the result of
// Open is an io.Closer, Teardown closes it.
type Hook[T any] interface {
	Open(ctx context.Context) (T, error)
}

// ErrHook is wrapped by the errors about hooks that cannot be serialised.
var ErrHook = errors.New("a hook must be a struct or a pointer to one, registered with beam.RegisterType")

// Field holds a Hook in a field of a DoFn. The zero value holds no hook and cannot be opened.
type Field[T any] struct {
	hook   Hook[T]
	opened T
	open   bool
}

// NewField returns a Field with a hook.
func NewField[T any](h Hook[T]) Field[T] { return Field[T]{hook: h} }

// Open opens the hook. Call it in Setup.
func (h *Field[T]) Open(ctx context.Context) (T, error) {
	if h.open {
		return h.opened, nil
	}
	var zero T
	if h.hook == nil {
		return zero, fmt.Errorf("opening a hook: no hook was given: %w", ErrHook)
	}
	opened, err := h.hook.Open(ctx)
	if err != nil {
		return zero, fmt.Errorf("opening %T: %w", h.hook, err)
	}
	h.opened, h.open = opened, true
	return opened, nil
}

// Close closes the opened resource if it is an io.Closer. Call it in Teardown.
func (h *Field[T]) Close() error {
	if !h.open {
		return nil
	}
	closer, ok := any(h.opened).(io.Closer)
	var zero T
	h.opened, h.open = zero, false
	if !ok {
		return nil
	}
	if err := closer.Close(); err != nil {
		return fmt.Errorf("closing the resource of %T: %w", h.hook, err)
	}
	return nil
}

// packed is the serialised form of a hook.
type packed struct {
	Type    beam.EncodedType
	Pointer bool
	Fields  json.RawMessage
}

// MarshalJSON implements json.Marshaler.
func (h Field[T]) MarshalJSON() ([]byte, error) {
	typ := reflect.TypeOf(h.hook)
	p := packed{}
	if typ != nil && typ.Kind() == reflect.Pointer {
		typ, p.Pointer = typ.Elem(), true
	}
	if typ == nil || typ.Kind() != reflect.Struct || typ.Name() == "" {
		return nil, fmt.Errorf("serialising a hook of type %T: %w", h.hook, ErrHook)
	}
	if key, ok := runtime.TypeKey(typ); !ok {
		return nil, fmt.Errorf("serialising a hook of type %T: %w", h.hook, ErrHook)
	} else if _, ok := runtime.LookupType(key); !ok {
		return nil, fmt.Errorf("serialising a hook of type %T: %w", h.hook, ErrHook)
	}
	var err error
	if p.Fields, err = json.Marshal(h.hook); err != nil {
		return nil, fmt.Errorf("serialising a hook of type %T: %w", h.hook, err)
	}
	p.Type.T = typ
	return json.Marshal(p)
}

// UnmarshalJSON implements json.Unmarshaler.
func (h *Field[T]) UnmarshalJSON(b []byte) error {
	var p packed
	if err := json.Unmarshal(b, &p); err != nil {
		return fmt.Errorf("reading a hook: %w", err)
	}
	if p.Type.T == nil || p.Type.T.Kind() != reflect.Struct {
		return fmt.Errorf("reading a hook: %w", ErrHook)
	}
	value := reflect.New(p.Type.T)
	if err := json.Unmarshal(p.Fields, value.Interface()); err != nil {
		return fmt.Errorf("reading a hook of type %v: %w", p.Type.T, err)
	}
	if !p.Pointer {
		value = value.Elem()
	}
	hook, ok := value.Interface().(Hook[T])
	if !ok {
		return fmt.Errorf("reading a hook of type %v: it does not open the type that the transform needs: %w", p.Type.T,
			ErrHook)
	}
	*h = Field[T]{hook: hook}
	return nil
}
