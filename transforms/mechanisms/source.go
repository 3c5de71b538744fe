package mechanisms

import (
	crand "crypto/rand"
	"encoding/binary"
	"math/rand/v2"

	"github.com/tollgate-dp/tollgate/schemas/secret"
)

// Source supplies random digits, independent and uniform over all 64-bit words. The guarantees of
// this package depend on it. With digits that are not random, a draw may not even end. *Keyed and
// *System implement it.
type Source interface{ Word() uint64 }

// System is a Source that reads the operating system's generator. The zero value is ready for use.
// A System is not safe for concurrent use: use one for each goroutine.
type System struct {
	buffer [256]byte
	next   int // 0: the buffer is empty; otherwise the number of its bytes that were used
}

// Word returns the next 64 random bits. If the operating system cannot supply randomness,
// crypto/rand ends the program.
func (s *System) Word() uint64 {
	if s.next == 0 || s.next == len(s.buffer) {
		_, _ = crand.Read(s.buffer[:]) // never fails
		s.next = 0
	}
	digits := s.buffer[s.next : s.next+8]
	w := binary.BigEndian.Uint64(digits)
	clear(digits)
	s.next += 8
	return w
}

// keyedFormat is the first field of every label under a key. Each sampler needs its own format, so
// no two sampling methods use the same digits.
const keyedFormat = "tollgate/mechanisms/1"

// Keyed is a Source that depends only on a secret and a label: the same secret and label give the
// same digits on every machine. It is not safe for concurrent use.
type Keyed struct{ generator *rand.ChaCha8 }

// NewKeyed returns the source for a label under a secret of 256 random bits. The source is ChaCha8,
// seeded with HMAC-SHA-256 of the label's fields, each with its length as a prefix. To an observer
// without the secret, different labels give independent digits.
//
// A label must include everything that distinguishes one release from another, including the exact
// value and the scale of the noise, because two releases that share noise reveal their values.
func NewKeyed(key [32]byte, label ...[]byte) *Keyed {
	return &Keyed{rand.NewChaCha8(secret.HMAC(key, keyedFormat, label...))}
}

// Word returns the next 64 bits. The sequence never ends.
func (k *Keyed) Word() uint64 { return k.generator.Uint64() }
