package eventfile

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"math/bits"
)

// Multiset digests records without regard to their order: the sum modulo 2^256
// of their HMACs (MSet-Add-Hash of Clarke et al., "Incremental multiset hash
// functions", 2003: without the key it is infeasible to make two multisets collide).
// Not for concurrent use.
type Multiset struct {
	h     hash.Hash
	sum   [4]uint64 // most significant first
	count uint64
}

// NewMultiset returns the digest of no records under a key, which serves nothing else.
func NewMultiset(key [32]byte) *Multiset { return &Multiset{h: hmac.New(sha256.New, key[:])} }

// Add adds one record. A truncated one counts with its whole length and digest.
func (m *Multiset) Add(r Record) {
	m.h.Reset()
	var head [9]byte
	if r.Digest != nil {
		head[0] = 1
	}
	binary.BigEndian.PutUint64(head[1:], uint64(r.Length))
	m.h.Write(head[:])
	if r.Digest != nil {
		m.h.Write(r.Digest)
	} else {
		m.h.Write(r.Value)
	}
	var buf [32]byte
	term := m.h.Sum(buf[:0])
	var carry uint64
	for i := 3; i >= 0; i-- {
		m.sum[i], carry = bits.Add64(m.sum[i], binary.BigEndian.Uint64(term[8*i:]), carry)
	}
	m.count++
}

// Sum returns the digest of the records so far, with their number.
func (m *Multiset) Sum() [32]byte {
	m.h.Reset()
	var buf [40]byte
	for i, word := range m.sum {
		binary.BigEndian.PutUint64(buf[8*i:], word)
	}
	binary.BigEndian.PutUint64(buf[32:], m.count)
	m.h.Write([]byte{2})
	m.h.Write(buf[:])
	return [32]byte(m.h.Sum(nil))
}
