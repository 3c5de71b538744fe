package protected

import (
	"fmt"
	"math"
	"math/big"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/keyrecord"
	"github.com/tollgate-dp/tollgate/state/budgets"
)

// Begin records that a deployment begins, and checks that its budget leaves out everything that was
// spent before. If it does not, the error is ErrNotPlanned and names the least privacy.planned that
// would. If there is no record and none can be created, nothing was spent.
func Begin(path, deployment string, period time.Duration, budget budgets.Budget) error {
	h, err := open(path)
	if err != nil {
		return err
	}
	if err := h.coveredBy(path, period, budget); err != nil {
		return err // before it is recorded: the configuration can be corrected
	}
	if err := h.begin(path, deployment); err != nil {
		return err
	}
	if h, err = open(path); err != nil {
		return err
	}
	return h.coveredBy(path, period, budget)
}

// Covered is the check of Begin, which records nothing.
func Covered(path string, period time.Duration, budget budgets.Budget) error {
	h, err := open(path)
	if err != nil {
		return err
	}
	return h.coveredBy(path, period, budget)
}

// Begun returns the name of the last deployment that has begun with the noise key of a record; ""
// for none.
func Begun(path string) (deployment string, err error) {
	lines, err := read(path)
	for _, e := range lines {
		if e.Begun != "" {
			deployment = e.Begun
		}
	}
	return deployment, err
}

// Continue records that a running deployment changes to the noise key of this record. If something
// was spent under the new key, the error is ErrOtherPromise: no change can subtract that from the
// deployment's budget. If there is no record and none can be created, nothing was spent.
func Continue(path, deployment string) error {
	for range 2 { // the second turn sees what was charged before the line was written
		h, err := open(path)
		if err != nil {
			return err
		}
		if len(h.charges) > 0 {
			return fmt.Errorf("comparing with %s: %w", path, ErrOtherPromise)
		}
		if h.begun {
			return durable(path)
		}
		if err := h.begin(path, deployment); err != nil {
			return err
		}
	}
	return nil
}

// begin appends to the record that a deployment begins. It succeeds without a record only if there
// is none and the process may not create one, as beside a mounted secret. It does not excuse a full
// disk: a choice could be recorded as soon as the disk has room.
func (h *history) begin(path, deployment string) error {
	err := add(path, entry{Begun: deployment})
	if h.empty && keyrecord.Unwritable(err) {
		return nil
	}
	return err
}

// coveredBy returns nil if a budget leaves out all charges, and otherwise what to configure.
func (h *history) coveredBy(path string, period time.Duration, budget budgets.Budget) error {
	for _, e := range h.charges {
		if e.Period != period.Milliseconds() {
			return fmt.Errorf("comparing with %s: bounds were chosen for a budget per %s, but the deployment has one per %s, and different units of privacy do not add up: choose bounds again with another noise key",
				path, unit(e.Period), unit(period.Milliseconds()))
		}
	}
	_, keys := sum(h.charges)
	if h.within(budget) {
		return nil
	}
	whole := budget.Whole()
	if whole.Keys.IsZero() && keys.Sign() > 0 {
		return fmt.Errorf("comparing with %s: %w: choosing bounds spent a part of the δ for private keys, and the configuration has none: write privacy.delta_keys", path, ErrNotPlanned)
	}
	needed := h.planned(whole)
	if needed >= 1 {
		return fmt.Errorf("comparing with %s: %w: the choices cost %.4g times its whole promise: begin with the promise for which the bounds were chosen, or with another noise key, which makes a separate promise", path, ErrNotPlanned, needed)
	}
	return fmt.Errorf("comparing with %s: %w: write privacy.planned: %.9g or more", path, ErrNotPlanned, needed)
}

// within says whether the planned part of a budget covers all charges.
func (h *history) within(budget budgets.Budget) bool {
	mu2, keys := sum(h.charges)
	return mu2.Cmp(new(big.Int).SetUint64(uint64(budget.Planned.Mu2))) <= 0 && keys.Cmp(budget.Planned.Keys.Big()) <= 0
}

// planned returns a share of a promise that covers all charges: the sum of their shares where they
// are shares of this promise, otherwise what they cost, rounded up to four digits. It is 1 or more
// where no share does.
func (h *history) planned(whole budgets.Budget) float64 {
	share := 0.
	for _, e := range h.charges {
		share += e.Share
	}
	share = math.Round(share*1e9) / 1e9
	if budget, err := whole.Plan(share); err == nil && h.within(budget) {
		return share
	}
	mu2, keys := sum(h.charges)
	needed := ratio(mu2, new(big.Int).SetUint64(uint64(whole.Mu2)))
	if !whole.Keys.IsZero() {
		needed = max(needed, ratio(keys, whole.Keys.Big()))
	}
	return math.Ceil((needed+0.00001)*1e4) / 1e4
}

func ratio(a, b *big.Int) float64 {
	f, _ := new(big.Rat).SetFrac(a, b).Float64()
	return f
}

// unit names the unit of privacy of a period in milliseconds.
func unit(period int64) string {
	if period == 0 {
		return "user, for life"
	}
	return "user and " + (time.Duration(period) * time.Millisecond).String()
}
