package choice

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// ErrTooLittle means that the planned part of the budget cannot pay for a choice.
var ErrTooLittle = errors.New("the planned part of the budget is too small")

// drawer makes the random decisions of one choice. The randomness of a decision follows from the
// key, the arguments of the choice, the number of the decision and the exact numbers behind it.
type drawer struct {
	key       noisereduction.NoiseKey
	arguments [32]byte
	n         uint64
	planned   units.Mu2
	used      int // number of parts of planned that are spent, out of allParts
}

// decision describes one draw. moves is the influence of one user. If the user changes number i by
// d_i, it is √Σ d_i² for released numbers, and the largest d_i minus the smallest for scores.
type decision struct {
	parts int // cost, out of allParts
	moves int
}

// exact holds the unprotected numbers of a decision. It never leaves the package.
type exact struct {
	decision
	numbers []int64
}

// spend spends the cost of a decision, and returns that part of the budget.
func (d *drawer) spend(cost decision) (units.Mu2, error) {
	if d.used += cost.parts; d.used > allParts {
		return 0, errors.New("choosing a setting: the decisions cost more than is planned")
	}
	return d.planned / allParts * units.Mu2(cost.parts), nil
}

// seed returns the seed of the randomness of the next decision.
func (d *drawer) seed(numbers []int64) [32]byte {
	d.n++
	return secret.HMAC(d.key.Secret.Reveal(), "tollgate choice v1", d.arguments[:], binary.BigEndian.AppendUint64(nil,
		d.n), fmt.Append(nil, numbers))
}

// noisy returns numbers with Gaussian noise, and the deviation of the noise.
func (d *drawer) noisy(values exact) ([]float64, float64, error) {
	share, err := d.spend(values.decision)
	if err != nil {
		return nil, 0, err
	}
	cost := new(big.Int).Lsh(new(big.Int).SetUint64(uint64(share)), units.Mu2Bits)
	u, err := units.PrecisionFromBig(cost.Div(cost, big.NewInt(int64(values.moves)*int64(values.moves))))
	if err != nil || u.IsZero() {
		return nil, 0, errors.Join(ErrTooLittle, err)
	}
	seed := d.seed(values.numbers)
	noise := noisereduction.NoiseKey{ID: d.key.ID, Secret: secret.New(secret.HMAC(d.key.Secret.Reveal(),
		"tollgate choice noise key v1"))}
	var sampler noisereduction.Sampler
	out := make([]float64, len(values.numbers))
	for i, n := range values.numbers {
		id := noisereduction.Identity{Incarnation: [16]byte(seed[:16]),
			MetricDigest: sha256.Sum256([]byte("tollgate choice")), Key: fmt.Append(nil, i)}
		y, exponent, err := sampler.Draw(noise, id, 1, units.Precision{}, u, n)
		if err != nil {
			return nil, 0, fmt.Errorf("choosing a setting: %w", err)
		}
		f, _ := new(big.Float).SetInt(y).Float64()
		out[i] = math.Ldexp(f, -int(exponent))
	}
	return out, 1 / math.Sqrt(u.Float()), nil
}

const (
	ratioBits  = 32  // precision of the base of the weights
	weightBits = 192 // precision of weights
	furthest   = 40  // exponent of e beyond which scores are equally bad
)

// pick chooses the index of a score by the exponential mechanism: index i with a probability
// proportional to r^(max − scores[i]), up to a relative error of 2^-100. For some a, a user changes
// each score by a number between a and a + moves. Therefore no test detects the user better than a
// test of N(0, 1) against N(μ, 1) with μ = √(2π)/4·moves·ln(1/r) (docs/guarantee.md, section 10). r
// is chosen so that μ² is at most the decision's share of the budget. The margin of 1e-9 covers
// rounding.
func (d *drawer) pick(scored exact) (int, error) {
	share, err := d.spend(scored.decision)
	if err != nil {
		return 0, err
	}
	epsilon := math.Sqrt(share.Float()) * 4 / math.Sqrt(2*math.Pi) / float64(scored.moves) * (1 - 1e-9)
	ratio := int64(math.Ceil(math.Ldexp(math.Exp(-epsilon), ratioBits)))
	if ratio >= 1<<ratioBits {
		return 0, ErrTooLittle
	}
	scores := scored.numbers
	most, far := slices.Max(scores), int64(math.Ceil(furthest/epsilon))
	weights, total := make([]*big.Int, len(scores)), new(big.Int)
	for i, s := range scores {
		weights[i] = weight(ratio, min(most-s, far))
		total.Add(total, weights[i])
	}
	point := d.uniform(d.seed(scores), total)
	for i, w := range weights {
		if point.Cmp(w) < 0 {
			return i, nil
		}
		point.Sub(point, w)
	}
	return 0, errors.New("choosing a setting: the weights do not add up")
}

// weight returns 2^weightBits·(ratio/2^ratioBits)^n, rounded down. Results of at least 2^128 have a
// relative error below 2^-100, because powers have a relative error of at most 2n·2^-weightBits,
// and n < 2^38.
func weight(ratio, n int64) *big.Int {
	number := func() *big.Float { return new(big.Float).SetPrec(weightBits) }
	power, square := number().SetMantExp(number().SetInt64(1), weightBits),
		number().SetMantExp(number().SetInt64(ratio), -ratioBits)
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			power.Mul(power, square)
		}
		square.Mul(square, square)
	}
	w, _ := power.Int(nil)
	return w
}

// uniform returns a uniform pseudorandom number in [0, n).
func (d *drawer) uniform(seed [32]byte, n *big.Int) *big.Int {
	bytes := make([]byte, 0, n.BitLen()/8+sha256.Size)
	for counter := uint64(0); ; {
		bytes = bytes[:0]
		for len(bytes)*8 < n.BitLen() {
			counter++
			block := secret.HMAC(seed, "tollgate choice stream v1", binary.BigEndian.AppendUint64(nil, counter))
			bytes = append(bytes, block[:]...)
		}
		v := new(big.Int).SetBytes(bytes)
		if v.Rsh(v, uint(len(bytes)*8-n.BitLen())); v.Cmp(n) < 0 {
			return v
		}
	}
}
