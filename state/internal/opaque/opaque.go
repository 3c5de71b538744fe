package opaque

import "errors"

// ErrJSON is the error of encoding/json for a State.
var ErrJSON = errors.New("this state has no JSON form: store the bytes of its binary encoding (MarshalBinary; of accounts, accounts.Encode), in JSON as a []byte")

// State is embedded where encoding/json must not pass over what it cannot see. It takes
// no memory as the first field of a struct.
type State struct{}

// MarshalJSON returns ErrJSON.
func (State) MarshalJSON() ([]byte, error) { return nil, ErrJSON }

// UnmarshalJSON returns ErrJSON.
func (State) UnmarshalJSON([]byte) error { return ErrJSON }
