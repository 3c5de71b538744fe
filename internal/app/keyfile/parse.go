package keyfile

import (
	"encoding/hex"
	"errors"
	"strconv"
	"strings"

	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

var errDigits = errors.New("the key must be 64 hex digits")

// ParseSecret reads 64 hex digits, with or without white space around them.
func ParseSecret(text string) ([32]byte, error) {
	raw, err := hex.DecodeString(strings.TrimSpace(text))
	if err != nil || len(raw) != 32 {
		return [32]byte{}, errDigits
	}
	return [32]byte(raw), nil
}

// ParseNoiseKey reads the only noise key of a file: 64 hex digits, or a key id, the first
// turn (1) and 64 hex digits. The id is "1" where there is none. A key of all zeros is an
// error.
func ParseNoiseKey(text string) (noisereduction.NoiseKey, error) {
	key := noisereduction.NoiseKey{ID: "1"}
	words := strings.Fields(text)
	switch len(words) {
	case 1:
	case 3:
		if turn, err := strconv.ParseUint(words[1], 10, 64); err != nil || turn != 1 {
			return key, errors.New("the second word must be 1, the first turn of the only key")
		}
		key.ID = words[0]
		if len(key.ID) > 64 {
			return key, errors.New("the key id is longer than 64 bytes")
		}
	default:
		return key, errors.New("it must have one key: 64 hex digits, or a key id, 1 and 64 hex digits")
	}
	bits, err := ParseSecret(words[len(words)-1])
	if err != nil {
		return key, err
	}
	if bits == [32]byte{} {
		return key, errors.New("the key is all zeros")
	}
	key.Secret = secret.New(bits)
	return key, nil
}
