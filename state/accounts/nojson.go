package accounts

import "errors"

var errJSON = errors.New("this state has no JSON form: store the bytes of its binary encoding (MarshalBinary; for " +
	"accounts, Encode), in JSON as a []byte")

// NoJSON is embedded in types that encoding/json would encode as {}, which would decode as if
// nothing had been spent. As the first field of a struct it takes no memory.
type NoJSON struct{}

// MarshalJSON returns an error.
func (NoJSON) MarshalJSON() ([]byte, error) { return nil, errJSON }

// UnmarshalJSON returns an error.
func (NoJSON) UnmarshalJSON([]byte) error { return errJSON }
