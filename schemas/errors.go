package schemas

import (
	"errors"
	"fmt"
)

var (
	// ErrMalformed is found (errors.Is) in every error of a decoder about bytes that no encoder of
	// this package wrote.
	ErrMalformed = errors.New("malformed record")
	// ErrVersion is found in an error about a record of a version that this program does not know:
	// another version of the program wrote it.
	ErrVersion = errors.New("unsupported format version")
	// ErrIncomplete is found in an error about a record of several parts if some are missing.
	ErrIncomplete = errors.New("incomplete record")
	// ErrTooLarge is found in an encoder's error about a limit that is too small for the
	// indivisible part of a record.
	ErrTooLarge = errors.New("record too large")
	// ErrInvalid is found in an encoder's error about a value that has no encoding, such as users
	// out of order.
	ErrInvalid = errors.New("invalid value")
)

// MalformedError names the format that was being decoded and the fault. It holds no data of the
// record.
type MalformedError struct {
	Kind  Kind
	What  string // the fault, with its field
	cause error  // ErrMalformed or ErrVersion
}

// Error names the format and the fault.
func (e *MalformedError) Error() string {
	text := fmt.Sprintf("decoding %s: %v: %s", e.Kind, e.cause, e.What)
	if errors.Is(e.cause, ErrVersion) {
		text += "; use the version of tollgate that wrote it"
	}
	return text
}

// Unwrap makes errors.Is find ErrMalformed or ErrVersion.
func (e *MalformedError) Unwrap() error { return e.cause }

func malformed(k Kind, what string) error {
	return &MalformedError{Kind: k, What: what, cause: ErrMalformed}
}

func invalid(k Kind, what string) error {
	return fmt.Errorf("encoding %s: %w: %s", k, ErrInvalid, what)
}
