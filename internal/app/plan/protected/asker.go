package protected

import (
	"crypto/sha256"
	"fmt"
	"math"
	"math/big"

	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// asker releases exact numbers, each batch with noise of its own.
type asker struct {
	c  *Choice
	id [32]byte
	n  int // batches so far
}

// ask adds noise of a precision to numbers: exactly Gaussian, from the noise key, the nonce, the
// batch and the numbers themselves.
func (a *asker) ask(u units.Precision, numbers []int64) ([]float64, error) {
	plan, err := once(u, nil)
	if err != nil {
		return nil, err
	}
	a.n++
	batch := secret.Keyed(a.c.o.Key.Secret.Reveal(), "tollgate plan trial v1", a.id[:], fmt.Append(nil, a.n, u), fmt.Append(nil, numbers))
	noise := noisereduction.NoiseKey{ID: a.c.o.Key.ID, Secret: secret.New(secret.Keyed(a.c.o.Key.Secret.Reveal(), "tollgate plan noise key v1"))}
	out := make([]float64, len(numbers))
	for i, n := range numbers {
		got, err := plan.Release(noise, noisereduction.Identity{Incarnation: [16]byte(batch[:16]), MetricDigest: sha256.Sum256([]byte("tollgate plan trial")), Key: fmt.Append(nil, i)}, n)
		if err != nil {
			return nil, err
		}
		out[i] = math.Ldexp(float64(got.Value), -10)
	}
	return out, nil
}

// paid returns the precision of a number that one user moves by at most so much, where the part
// that pays for it is so many of all shares.
func (o *Options) paid(shares, all, by uint64) (units.Precision, error) {
	cost := new(big.Int).Lsh(new(big.Int).SetUint64(uint64(o.Budget.Planned.Mu2)), 40)
	cost.Mul(cost, new(big.Int).SetUint64(shares))
	cost.Div(cost, new(big.Int).SetUint64(all*by*by))
	u, err := units.PrecisionFromBig(cost)
	if err == nil && u.IsZero() {
		err = fmt.Errorf("choosing bounds with %v of the budget: %w", o.Budget.Planned.Share, ErrTooLittle)
	}
	return u, err
}
