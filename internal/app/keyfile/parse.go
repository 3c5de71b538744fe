package keyfile

import (
	"encoding/hex"
	"errors"
	"strings"
)

var errDigits = errors.New("the key must be 64 hex digits")

// ParseSecret parses 64 hex digits, with or without white space around them.
func ParseSecret(text string) ([32]byte, error) {
	raw, err := hex.DecodeString(strings.TrimSpace(text))
	if err != nil || len(raw) != 32 {
		return [32]byte{}, errDigits
	}
	return [32]byte(raw), nil
}
