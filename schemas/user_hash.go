package schemas

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"

	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/state/accounts"
)

// Domain bytes separate the uses of one key, so that account ids, ranks and fingerprints are
// different functions of the input. After the domain byte, every part but the last has a fixed
// length or a length prefix, so different parts never give the same input.
const (
	domainAccount     = 1
	domainClipRank    = 2
	domainFingerprint = 3
	domainRecord      = 4
	domainRecordRank  = 5
	domainUnnamed     = 6
	domainForgotten   = 7
)

// Hasher derives account ids, record ids and clipping ranks from the user-hash key by HMAC-SHA-256.
// A Hasher is not safe for concurrent use: give every goroutine a Clone.
type Hasher struct {
	key     secret.Of[[32]byte]
	mac     hash.Hash
	scratch []byte
	sum     [sha256.Size]byte
}

// NewHasher returns a hasher for the deployment's user-hash key: 256 random bits that never change.
func NewHasher(key [32]byte) *Hasher {
	return &Hasher{key: secret.New(key), mac: hmac.New(sha256.New, key[:])}
}

// Clone returns an independent hasher with the same key.
func (h *Hasher) Clone() *Hasher { return NewHasher(h.key.Reveal()) }

// Account returns the account id of a user who passed ValidateUser. An id has 128 bits, so the
// probability that any two of 10^8 users share an id is 1.5e-23.
func (h *Hasher) Account(user []byte) accounts.ID {
	h.scratch = append(append(h.scratch[:0], domainAccount), user...)
	return accounts.ID(h.finish())
}

// Unnamed returns the account id for one record without a user id, given the record's position on
// the events topic. It differs from the account id of every user and of every other position.
func (h *Hasher) Unnamed(partition int32, offset int64) accounts.ID {
	b := append(h.scratch[:0], domainUnnamed)
	b = binary.BigEndian.AppendUint32(b, uint32(partition))
	h.scratch = binary.BigEndian.AppendUint64(b, uint64(offset))
	return accounts.ID(h.finish())
}

// ForgottenMark identifies the account of a forgotten user. Without the user-hash key, a mark
// reveals nothing about the user and cannot be computed from the account id.
type ForgottenMark [16]byte

// Compare orders marks by their bytes.
func (m ForgottenMark) Compare(o ForgottenMark) int { return bytes.Compare(m[:], o[:]) }

// Forgotten returns the mark of an account.
func (h *Hasher) Forgotten(id accounts.ID) ForgottenMark {
	h.scratch = append(append(h.scratch[:0], domainForgotten), id[:]...)
	return h.finish()
}

// ClipRank returns the rank of a user's key for a metric; clipping keeps the keys with the lowest
// ranks. The rank depends only on the user's own data, not on offsets or arrival order.
func (h *Hasher) ClipRank(metric string, id accounts.ID, period int64, key []byte) [16]byte {
	return h.rank(domainClipRank, metric, id, period, key)
}

// Record returns the id of a record, which depends only on the record's bytes. The ledger stores
// ids instead of records to put a user's records in order.
func (h *Hasher) Record(value []byte) RecordID {
	h.scratch = append(append(h.scratch[:0], domainRecord), value...)
	return h.finish()
}

// RecordID identifies a record's bytes under the user-hash key.
type RecordID [16]byte

// RecordRank returns the rank of a record among the records of one user and key for a metric. A sum
// keeps the records with the lowest ranks.
func (h *Hasher) RecordRank(metric string, id accounts.ID, period int64, record RecordID) [16]byte {
	return h.rank(domainRecordRank, metric, id, period, record[:])
}

func (h *Hasher) rank(domain byte, metric string, id accounts.ID, period int64, last []byte) [16]byte {
	b := append(appendString(append(h.scratch[:0], domain), metric), id[:]...)
	h.scratch = append(binary.BigEndian.AppendUint64(b, uint64(period)), last...)
	return h.finish()
}

func (h *Hasher) finish() (out [16]byte) {
	h.mac.Reset()
	h.mac.Write(h.scratch)
	copy(out[:], h.mac.Sum(h.sum[:0]))
	return out
}

// KeyFingerprintOf returns a fingerprint that identifies a secret key without revealing the key.
// label states the key's purpose. Equal fingerprints for the same label mean equal keys.
func KeyFingerprintOf(label string, secret [32]byte) (out [32]byte) {
	mac := hmac.New(sha256.New, secret[:])
	mac.Write(appendString([]byte{domainFingerprint}, label))
	mac.Sum(out[:0])
	return out
}

func appendString(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}
