package schemas

import (
	"errors"
	"fmt"
)

var (
	// ErrMalformed means that no encoder of this package wrote the bytes.
	ErrMalformed = errors.New("malformed record")
	// ErrVersion means that another version of the program wrote the record.
	ErrVersion = errors.New("unsupported format version")
	// ErrIncomplete means that parts of a record are missing.
	ErrIncomplete = errors.New("incomplete record")
	// ErrTooLarge means that an indivisible part of a record exceeds the size limit.
	ErrTooLarge = errors.New("record too large")
	// ErrInvalid means that a value cannot be encoded, for example because users are out of order.
	ErrInvalid = errors.New("invalid value")
)

// MalformedError names the format that was being decoded and the fault. It contains no data.
type MalformedError struct {
	Kind  Kind
	What  string // the fault, including the field
	cause error  // ErrMalformed or ErrVersion
}

// Error implements error.
func (e *MalformedError) Error() string {
	text := fmt.Sprintf("decoding %s: %v: %s", e.Kind, e.cause, e.What)
	if errors.Is(e.cause, ErrVersion) {
		text += "; use the version of tollgate that wrote it"
	}
	return text
}

// Unwrap returns ErrMalformed or ErrVersion.
func (e *MalformedError) Unwrap() error { return e.cause }

func malformed(k Kind, what string) error {
	return &MalformedError{Kind: k, What: what, cause: ErrMalformed}
}

func invalid(k Kind, what string) error {
	return fmt.Errorf("encoding %s: %w: %s", k, ErrInvalid, what)
}
