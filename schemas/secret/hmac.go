package secret

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
)

// HMAC returns the HMAC-SHA-256 of an injective encoding of domain and parts, each preceded by its
// length. Every use of a key must have its own domain. For user ids, see schemas.Hasher.
func HMAC(key [32]byte, domain string, parts ...[]byte) [32]byte {
	h := hmac.New(sha256.New, key[:])
	for _, part := range append([][]byte{[]byte(domain)}, parts...) {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(part)))
		h.Write(size[:])
		h.Write(part)
	}
	return [32]byte(h.Sum(nil))
}
