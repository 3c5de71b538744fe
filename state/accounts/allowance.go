package accounts

import (
	"math/big"
	"math/bits"

	"github.com/tollgate-dp/tollgate/state/units"
)

// Allowance limits how fast one metric may use an account. It is a token bucket in μ² that holds at
// most Burst, begins full, and is refilled evenly by Refill per Horizon. It thus pays out at most
// Burst + Refill within any Horizon. The zero value means no limit.
//
// An allowance spreads a budget over time and over metrics. The privacy promise depends only on
// Account.Fits.
//
// The state of a bucket is one number, its debt: the total that was ever taken, including refill
// that was lost while the bucket was full. A full bucket has debt 0.
type Allowance struct {
	Burst, Refill units.Mu2
	Horizon       int64 // in milliseconds; positive if Burst is positive
}

// NewAllowance returns an allowance that pays out at most amount within a horizon. burst is the
// fraction of amount, from 0 to 1, that may be used at once.
func NewAllowance(amount units.Mu2, burst float64, horizon int64) Allowance {
	b := Part(amount, burst)
	return Allowance{Burst: b, Refill: amount - b, Horizon: horizon}
}

// Part returns the fraction part, from 0 to 1, of an amount, rounded down.
func Part(amount units.Mu2, part float64) units.Mu2 {
	r := new(big.Rat).SetFloat64(min(max(part, 0), 1))
	r.Mul(r, new(big.Rat).SetInt(new(big.Int).SetUint64(uint64(amount))))
	return units.Mu2(new(big.Int).Quo(r.Num(), r.Denom()).Uint64())
}

// Paid returns the refill in elapsed milliseconds of a bucket that is never full, rounded down,
// modulo 2^64. Only differences matter, so elapsed may count from any time independent of data.
func (a *Allowance) Paid(elapsed int64) units.Mu2 {
	if elapsed <= 0 || a.Horizon <= 0 {
		return 0
	}
	high, low := bits.Mul64(uint64(a.Refill), uint64(elapsed))
	paid, _ := bits.Div64(high%uint64(a.Horizon), low, uint64(a.Horizon))
	return units.Mu2(paid)
}

// Lacks returns the amount that is missing from a bucket with the given debt. debt and paid are
// modulo 2^64, and differ by less than 2^63 unless the bucket is full.
func Lacks(debt, paid units.Mu2) units.Mu2 {
	if d := int64(debt - paid); debt != 0 && d > 0 {
		return units.Mu2(d)
	}
	return 0
}

// Left returns the amount that may be taken from a bucket with the given debt.
func (a *Allowance) Left(debt, paid units.Mu2) units.Mu2 {
	if a.Burst == 0 {
		return units.MaxMu2
	}
	return a.Burst - min(a.Burst, Lacks(debt, paid))
}

// Take returns the debt of a bucket after amount, which is at most the burst, has been taken.
func (a *Allowance) Take(debt, paid, amount units.Mu2) units.Mu2 {
	lack := Lacks(debt, paid)
	if a.Burst == 0 || lack+amount == 0 {
		return 0
	}
	return max(1, paid+lack+amount)
}

// Carry returns the debt of a bucket that continues under another allowance.
func (a *Allowance) Carry(debt, paid units.Mu2, next *Allowance, nextPaid units.Mu2) units.Mu2 {
	if a.Burst == 0 {
		return 0
	}
	return next.Take(0, nextPaid, Lacks(debt, paid))
}
