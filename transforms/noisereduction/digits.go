package noisereduction

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/state/units"
)

// noiseFormat is the first field of every input to the pseudorandom function. Each sampling method
// needs its own format, so no two methods use the same input.
const noiseFormat = "tollgate/noise/1"

// Identity identifies the release of a draw. All fields are inputs of the pseudorandom function.
type Identity struct {
	Incarnation  [16]byte // random, chosen once per deployment
	MetricDigest [32]byte // digest of every field of the metric that affects values
	WindowStart  int64    // Unix milliseconds, inclusive
	WindowEnd    int64    // Unix milliseconds, exclusive
	Key          []byte   // may be empty; not retained
}

// NoiseKey is the secret of the pseudorandom function.
type NoiseKey struct {
	ID     string // a public name, which does not affect the noise
	Secret secret.Of[[32]byte]
}

// appendField appends a field with a prefix that contains its length. Every field has such a
// prefix, so two different tuples never have the same encoding.
func appendField(dst, field []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(field)))
	return append(dst, field...)
}

func appendUint(dst []byte, v uint64) []byte {
	dst = binary.BigEndian.AppendUint32(dst, 8)
	return binary.BigEndian.AppendUint64(dst, v)
}

func appendPrecision(dst []byte, u units.Precision) []byte {
	dst = binary.BigEndian.AppendUint32(dst, units.WideSize)
	return u.AppendBinary(dst)
}

// appendIdentity appends the part of the encoding that all rungs of a release share.
func appendIdentity(dst []byte, id Identity) []byte {
	dst = append(binary.BigEndian.AppendUint32(dst, uint32(len(noiseFormat))), noiseFormat...)
	dst = appendField(dst, id.Incarnation[:])
	dst = appendField(dst, id.MetricDigest[:])
	dst = appendUint(dst, uint64(id.WindowStart))
	dst = appendUint(dst, uint64(id.WindowEnd))
	return appendField(dst, id.Key)
}

// draw identifies one Gaussian draw within a release. It includes the precisions: otherwise a run
// with another configuration would use the same normal deviate at another scale, and two equations
// with two unknowns would reveal the count.
type draw struct {
	rung       int // from 1
	previous   units.Precision
	precision  units.Precision
	exponent   uint   // exponent of the lattice 2^-exponent
	exactCount uint64 // two's complement
}

func appendDraw(dst []byte, d draw) []byte {
	dst = appendUint(dst, uint64(d.rung))
	dst = appendPrecision(dst, d.previous)
	dst = appendPrecision(dst, d.precision)
	dst = appendUint(dst, uint64(d.exponent))
	return appendUint(dst, d.exactCount)
}

// stream generates the random digits of one draw: SHA-256 of a seed in counter mode. It never ends.
type stream struct {
	input [40]byte // seed and counter
	block [32]byte
	next  int // first unused byte of the block
	count uint64
}

func (s *stream) reset(seed [32]byte) {
	copy(s.input[:32], seed[:])
	s.next, s.count = len(s.block), 0
}

// Word returns the next 64 random bits.
func (s *stream) Word() uint64 {
	if s.next == len(s.block) {
		binary.BigEndian.PutUint64(s.input[32:], s.count)
		s.block = sha256.Sum256(s.input[:])
		s.next = 0
		s.count++
	}
	w := binary.BigEndian.Uint64(s.block[s.next:])
	s.next += 8
	return w
}
