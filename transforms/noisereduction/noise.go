package noisereduction

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"hash"
	"math"
	"math/big"
	"math/bits"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/int128"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/state/units"
)

const (
	// MaxCount is the greatest exact count that can be released. −MaxCount is the least.
	MaxCount = 1<<52 - 1

	precisionBits = 80 // a units.Precision counts units of 2^-80
	valueBits     = 10 // a released value counts units of 2^-10
)

// Sampler draws the noisy count of a rung. The zero value is ready for use. It contains reusable
// memory and the last key, and is not safe for concurrent use.
type Sampler struct {
	message []byte
	prefix  int // length of the identity in message
	key     secret.Of[[32]byte]
	mac     hash.Hash // HMAC-SHA-256 under key
	sum     [sha256.Size]byte
	random  stream
	gauss   normal
}

// Draw returns round_L(count + σ·Z) as y·2^-exponent: the count with Gaussian noise of precision u
// − uPrev, rounded to the lattice L of multiples of 2^-exponent. The same arguments give the same
// y. A change in any argument, except the key's ID, gives independent noise.
//
// σ is rational, at least 1/√(u−uPrev), and at most (1+2^-30) times that, so there is never less
// noise than the charge assumes. L contains the integers and depends only on u − uPrev. Because
// count ∈ L, rounding commutes with the addition of the count: the rounded noise depends on the
// count only through the pseudorandom function. Nothing is clamped.
//
// Draw fails if rung < 1, u ≤ uPrev or |count| > MaxCount.
func (s *Sampler) Draw(k NoiseKey, id Identity, rung int, uPrev, u units.Precision,
	count int64) (y *big.Int, exponent uint, err error) {
	s.begin(id)
	noise, exponent, err := s.noise(&k, rung, uPrev, u, count)
	if err != nil {
		return nil, 0, err
	}
	y = big.NewInt(count)
	y.Lsh(y, exponent)
	return y.Add(y, big.NewInt(noise)), exponent, nil
}

func (s *Sampler) begin(id Identity) {
	s.message = appendIdentity(s.message[:0], id)
	s.prefix = len(s.message)
}

// noise returns the rounded noise of one rung in units of 2^-exponent.
func (s *Sampler) noise(k *NoiseKey, rung int, uPrev, u units.Precision, count int64) (int64, uint, error) {
	increment, ok := u.Sub(uPrev)
	if !ok || increment.IsZero() || rung < 1 {
		return 0, 0, fmt.Errorf("drawing rung %d: its precision must be greater than that of the previous rung", rung)
	}
	if count > MaxCount || count < -MaxCount {
		return 0, 0, fmt.Errorf("drawing rung %d: the count must be between -(2^52-1) and 2^52-1", rung)
	}
	exponent := latticeExponent(increment)
	s.message = appendDraw(s.message[:s.prefix], draw{rung, uPrev, u, exponent, uint64(count)})
	s.random.reset(s.seed(k.Secret))
	q, t := scaledDeviation(increment, exponent)
	noise, err := s.gauss.rounded(q, t, &s.random)
	return noise, exponent, err
}

// seed returns HMAC-SHA-256 of the message. It keeps the state of the last key, because the next
// draw nearly always uses the same key.
func (s *Sampler) seed(key secret.Of[[32]byte]) [32]byte {
	if s.mac == nil || s.key.Reveal() != key.Reveal() {
		secret := key.Reveal()
		s.key, s.mac = key, hmac.New(sha256.New, secret[:])
	}
	s.mac.Reset()
	s.mac.Write(s.message)
	s.mac.Sum(s.sum[:0])
	return s.sum
}

// latticeExponent returns the exponent j of the lattice of multiples of 2^-j for noise of precision
// u. It is at most 34. Both a standard deviation and 1 are at least 2^10 lattice points wide.
func latticeExponent(u units.Precision) uint {
	return valueBits + uint(max(0, int128.Uint(u).Len()-precisionBits+1)/2)
}

// scaledDeviation returns q·2^-t, at least 2^exponent/√u and less than 1 + 2^-30 times that, with q
// < 2^64 and 0 < t < 64. It divides by the integer root of the 64 leading bits of u, which is
// rounded down, and rounds the quotient up.
func scaledDeviation(u units.Precision, exponent uint) (q uint64, t uint) {
	// u ≥ lead·2^shift, shift even, 2^62 ≤ lead.
	shift := int128.Uint(u).Len() - 64
	if shift&1 != 0 {
		shift++
	}
	lead, _ := int128.Uint(u).Scale(-shift, false)
	root := rootFloor(lead.Lo)
	// 2^exponent/√u in real units is 2^(exponent+40)/√(units of u)
	// ≤ 2^(exponent+40−shift/2)/root, and 2^94/root needs 63 bits.
	q, remainder := bits.Div64(1<<30, 0, root)
	if remainder != 0 {
		q++
	}
	return q, uint(94 - precisionBits/2 - int(exponent) + shift/2)
}

// rootFloor returns ⌊√v⌋. It corrects the floating-point root.
func rootFloor(v uint64) uint64 {
	r := uint64(math.Sqrt(float64(v)))
	r = min(r, 1<<32-1)
	for r*r > v {
		r--
	}
	for r < 1<<32-1 && (r+1)*(r+1) <= v {
		r++
	}
	return r
}
