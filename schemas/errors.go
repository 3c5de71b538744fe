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
	// ErrIncomplete is found in an error about a record of several parts of which some are missing.
	ErrIncomplete = errors.New("incomplete record")
	// ErrTooLarge is found in an encoder's error about a limit that is too small for the
	// indivisible part of a record.
	ErrTooLarge = errors.New("record too large")
	// ErrInvalid is found in an encoder's error about a value that has no encoding, such as users
	// out of order.
	ErrInvalid = errors.New("invalid value")
)

// MalformedError says which format was being decoded and what was wrong. It holds no data of the
// record.
type MalformedError struct {
	Kind  Kind
	What  string // what is wrong, and with which field
	cause error  // ErrMalformed or ErrVersion
	// Version and Known are, where errors.Is finds ErrVersion and the format numbers its versions,
	// the record's version and the one that this program knows; else 0. Known is 0 for a kind that
	// only a later version has.
	Version, Known byte
}

// Error names the format and what is wrong.
func (e *MalformedError) Error() string {
	return fmt.Sprintf("decoding %s: %v: %s", e.Kind, e.cause, e.What)
}

// Remedy says, where errors.Is finds ErrVersion, which version of tollgate wrote the record, as far
// as it says, and what to do; "" for other errors.
func (e *MalformedError) Remedy() string {
	const begin = "use that version, or drain the deployment with it and begin a new deployment with new keys (tollgate init), in which every user has a whole budget again"
	format := e.Kind.String()
	if e.Kind <= KindEnd {
		format = "control log"
	}
	switch {
	case !errors.Is(e.cause, ErrVersion):
		return ""
	case e.Known == 0:
		return fmt.Sprintf("a later version of tollgate wrote it, one that knows records of kind %d: use that version", byte(e.Kind))
	case e.Version > e.Known:
		return fmt.Sprintf("a later version of tollgate wrote it, one with version %d of the %s (its docs/changelog.md lists them): use that version", e.Version, format)
	}
	return fmt.Sprintf("an earlier version of tollgate wrote it, one with version %d of the %s (docs/changelog.md lists them), whose deployments this one does not go on with: %s", e.Version, format, begin)
}

// Unwrap makes errors.Is find ErrMalformed or ErrVersion.
func (e *MalformedError) Unwrap() error { return e.cause }

func malformed(k Kind, what string) error {
	return &MalformedError{Kind: k, What: what, cause: ErrMalformed}
}

func invalid(k Kind, what string) error {
	return fmt.Errorf("encoding %s: %w: %s", k, ErrInvalid, what)
}
