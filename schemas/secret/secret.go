package secret

import (
	"fmt"
	"io"
	"reflect"
	"strings"
)

// Redacted is shown instead of a secret.
const Redacted = "[redacted]"

// Of is a secret of type T. The zero Of contains the zero T. Two secrets can only be compared with
// Equal: == does not compile.
type Of[T any] struct {
	_     [0]func()
	value **T // two pointers, because fmt follows one pointer to print an array in an unexported field
}

// New returns v as a secret.
func New[T any](v T) Of[T] {
	p := &v
	return Of[T]{value: &p}
}

// Reveal returns the value.
func (s Of[T]) Reveal() (v T) {
	if s.value != nil {
		v = **s.value
	}
	return v
}

// Equal reports whether s and other contain the same value.
func (s Of[T]) Equal(other Of[T]) bool { return reflect.DeepEqual(s.Reveal(), other.Reveal()) }

// Format implements fmt.Formatter, for all verbs.
func (Of[T]) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, Redacted) }

// MarshalText implements encoding.TextMarshaler, which JSON, YAML and slog use.
func (Of[T]) MarshalText() ([]byte, error) { return []byte(Redacted), nil }

// Line returns the secret in text, which is the contents of a file or variable, without a byte
// order mark or trailing line ends.
func Line(text string) string { return strings.TrimRight(strings.TrimPrefix(text, "\uFEFF"), "\r\n") }

// URL is an address that may contain a user and a password. It is printed in redacted form.
type URL struct{ text Of[string] }

// NewURL returns a URL. It does not check the address.
func NewURL(address string) URL { return URL{New(address)} }

// Reveal returns the complete address.
func (u URL) Reveal() string { return u.text.Reveal() }

// String returns the address in redacted form.
func (u URL) String() string { return Redact(u.Reveal()) }

// Format implements fmt.Formatter, for all verbs.
func (u URL) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, u.String()) }

// MarshalText implements encoding.TextMarshaler, which JSON, YAML and slog use.
func (u URL) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// Redact returns an address in which Redacted replaces the user and password, which are everything
// between the scheme and the last @, and the query, which may contain a token.
func Redact(address string) string {
	i := strings.LastIndexByte(address, '@')
	if q := strings.IndexByte(address[i+1:], '?'); q >= 0 {
		address = address[:i+1+q+1] + Redacted
	}
	if i < 0 {
		return address
	}
	scheme := ""
	if end := strings.Index(address[:i], "://"); end >= 0 && !strings.ContainsFunc(address[:end], notInScheme) {
		scheme = address[:end+3]
	}
	return scheme + Redacted + address[i:]
}

// notInScheme reports whether r cannot be part of a scheme. Other text before :// is secret.
func notInScheme(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("+-.", r))
}
