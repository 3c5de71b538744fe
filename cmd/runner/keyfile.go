package main

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/config"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// readNoiseKey reads a noise key: one line with 64 hex digits, or with a key id,
// the first turn (1) and 64 hex digits. No error has any of the file in it.
func readNoiseKey(path string) (noisereduction.NoiseKey, error) {
	text, err := config.ReadSmall(path, 4096)
	if err != nil {
		return noisereduction.NoiseKey{}, fmt.Errorf("reading --noise-key-file: %w", err)
	}
	key, err := parseNoiseKey(text)
	if err != nil {
		return noisereduction.NoiseKey{}, contents(fmt.Errorf("reading --noise-key-file %s: %w; make a key with: openssl rand -hex 32", path, err))
	}
	return key, nil
}

func parseNoiseKey(text string) (noisereduction.NoiseKey, error) {
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
		return key, errors.New("it must hold one key: 64 hex digits, or a key id, 1 and 64 hex digits")
	}
	secret, err := hex.DecodeString(words[len(words)-1])
	if err != nil || len(secret) != len(key.Secret) {
		return key, errors.New("the key must be 64 hex digits")
	}
	copy(key.Secret[:], secret)
	if key.Secret == [32]byte{} {
		return key, errors.New("the key is all zeros")
	}
	return key, nil
}
