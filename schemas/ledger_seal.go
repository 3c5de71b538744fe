package schemas

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/tollgate-dp/tollgate/schemas/secret"
)

// LedgerSeal encrypts and authenticates the values of a ledger's records. Its keys are derived from
// the user-hash key, which never changes; without that key, nobody can read the event keys,
// accounts and numbers in a ledger.
//
// The construction is SIV (Rogaway and Shrimpton): the HMAC-SHA-256 of a value is both its tag and
// the first counter block of AES-256 in counter mode. Equal records have equal bytes, and a
// repeated nonce reveals only that two records are equal. The tag covers the shard and the record's
// Kafka key, so a record that was moved elsewhere is rejected. Padding rounds the size of a value
// up to a multiple of sealStep.
//
// A LedgerSeal is safe for concurrent use.
type LedgerSeal struct {
	shard   uint32
	tag     secret.Of[[32]byte]
	encrypt secret.Of[[32]byte]
}

const (
	sealStep = 256 // bytes
	sealTag  = aes.BlockSize
)

// NewLedgerSeal returns the seal of a shard's ledger.
func NewLedgerSeal(userHash [32]byte, shard int) *LedgerSeal {
	return &LedgerSeal{shard: uint32(shard),
		tag:     secret.New(secret.HMAC(userHash, "ledger authentication")),
		encrypt: secret.New(secret.HMAC(userHash, "ledger encryption")),
	}
}

// Seal returns the value that is stored on the topic for a record. A tombstone stays a tombstone.
func (s *LedgerSeal) Seal(r LedgerRecord) []byte {
	if r.Value == nil {
		return nil
	}
	padded := (len(r.Value)/sealStep + 1) * sealStep
	w := newWriter(make([]byte, 0, preambleBytes+sealTag+padded), KindLedgerSeal)
	out := w.out[:preambleBytes+sealTag+padded]
	text := out[preambleBytes+sealTag:]
	text[copy(text, r.Value)] = 0x80 // then zeros, up to the next step
	tag := s.authenticate(r.Key, text)
	copy(out[preambleBytes:], tag)
	s.applyKeystream(tag, text)
	return out
}

// Open is the inverse of Seal for a value that is stored under a Kafka key. Errors: ErrMalformed if
// the value was not sealed with this seal for this key; ErrVersion if another version wrote the
// value, which may then be unencrypted.
func (s *LedgerSeal) Open(key, value []byte) ([]byte, error) {
	if value == nil {
		return nil, nil
	}
	if Ours(value) && len(value) > 2 && (Kind(value[2]) == KindDeltaPart || Kind(value[2]) == KindSnapshotPart) {
		return nil, &MalformedError{Kind: Kind(value[2]), cause: ErrVersion,
			What: "it is not encrypted, because an earlier version wrote it"}
	}
	if err := unknownKind(value); err != nil {
		return nil, err
	}
	r := newReader(value, KindLedgerSeal)
	tag := r.next(sealTag, "tag")
	if r.check(len(r.rest) > 0 && len(r.rest)%sealStep == 0, "length"); r.err != nil {
		return nil, r.err
	}
	text := append(make([]byte, 0, len(r.rest)), r.rest...)
	s.applyKeystream(tag, text)
	if !hmac.Equal(tag, s.authenticate(key, text)) {
		return nil, malformed(KindLedgerSeal, "it was not written with this user-hash key, or is damaged")
	}
	end := len(text) - 1
	for end > 0 && text[end] == 0 {
		end--
	}
	return text[:end], nil
}

// OpenRecord decrypts a record from the topic. If Open fails with ErrMalformed, OpenRecord returns
// the record with an empty value, which LedgerReader rejects. Errors: ErrVersion.
func (s *LedgerSeal) OpenRecord(r LedgerRecord) (LedgerRecord, error) {
	value, err := s.Open(r.Key, r.Value)
	switch {
	case errors.Is(err, ErrVersion):
		return r, fmt.Errorf("reading ledger: %w", err)
	case err != nil:
		value = []byte{}
	}
	r.Value = value
	return r, nil
}

func (s *LedgerSeal) authenticate(key, text []byte) []byte {
	sum := secret.HMAC(s.tag.Reveal(), "ledger record", binary.BigEndian.AppendUint32(nil, s.shard), key, text)
	return sum[:sealTag]
}

// applyKeystream encrypts or decrypts a text in place.
func (s *LedgerSeal) applyKeystream(tag, text []byte) {
	key := s.encrypt.Reveal()
	block, _ := aes.NewCipher(key[:]) // it fails only for keys of other lengths
	cipher.NewCTR(block, tag).XORKeyStream(text, text)
}
