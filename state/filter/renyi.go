package filter

import (
	"github.com/tollgate-dp/tollgate/state/internal/fixed"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

// Renyi is the Rényi filter of one order: divergences add (Feldman and Zrnic,
// Theorem 4.3). Everything accepted together is (α, B)-RDP with the order and the
// budget of the filter. Not safe for concurrent use.
//
// A loss is charged what it states at its least order of at least α: the Rényi
// divergence does not fall with its order. One that has no such order is a
// *units.RangeError.
type Renyi struct {
	unreadable
	order    float64
	epsilons fixed.Meter
}

var _ Filter[loss.RDP] = (*Renyi)(nil)

// NewRenyi returns a filter of the order given, above 1 and finite, and the budget
// 2^-80 ≤ epsilon < 2^48. The error is a *units.RangeError.
func NewRenyi(order, epsilon float64) (*Renyi, error) {
	if err := (loss.RDP{{Alpha: order}}).Validate(); err != nil {
		return nil, err
	}
	meter, err := limit("epsilon", epsilon)
	if err != nil {
		return nil, err
	}
	return &Renyi{order: order, epsilons: meter}, nil
}

// Fits reports whether l would be taken.
func (r *Renyi) Fits(l loss.RDP) bool {
	price, err := r.price(l)
	return err == nil && r.epsilons.Admit(fixed.Ask, price)
}

// Spend takes l, or returns ErrExceeded or a *units.RangeError.
func (r *Renyi) Spend(l loss.RDP) error {
	price, err := r.price(l)
	if err != nil {
		return err
	}
	if !r.epsilons.Admit(fixed.Spend, price) {
		return ErrExceeded
	}
	return nil
}

// Left returns the largest divergence of the filter's order that still fits, a
// fresh slice.
func (r *Renyi) Left() loss.RDP {
	return loss.RDP{{Alpha: r.order, Epsilon: r.epsilons.Left().FloatDown()}}
}

// Spent returns the sum of the divergences of the filter's order, rounded up; a fresh
// slice.
func (r *Renyi) Spent() loss.RDP {
	return loss.RDP{{Alpha: r.order, Epsilon: r.epsilons.Taken().FloatUp()}}
}

// Budget returns the divergence of the filter's order that the budget allows, rounded down; a
// fresh slice.
func (r *Renyi) Budget() loss.RDP {
	return loss.RDP{{Alpha: r.order, Epsilon: r.epsilons.Limit().FloatDown()}}
}

// Fresh returns a filter of the same budget of which nothing is spent.
func (r *Renyi) Fresh() Filter[loss.RDP] {
	return &Renyi{order: r.order, epsilons: fixed.NewMeter(r.epsilons.Limit())}
}

func (r *Renyi) price(l loss.RDP) (fixed.Amount, error) {
	if err := l.Validate(); err != nil {
		return fixed.Max, err
	}
	if err := reaches(l, r.order); err != nil {
		return fixed.Max, err
	}
	i := 0
	for l[i].Alpha < r.order {
		i++
	}
	return fixed.Up(l[i].Epsilon), nil
}

// RenyiOrders is the Rényi filter of many orders: it accepts as long as every order
// stays within its budget (Feldman and Zrnic, Remark 4.4, here with a budget of its
// own for each order). Everything accepted together is (α, B_α)-RDP at every order.
// Not safe for concurrent use.
//
// Going on while any order is within budget would not be a valid filter: the order that
// is left at the end was chosen by the outputs.
//
// A loss is charged at each order of the filter what it states at its own least
// order of at least that. One that does not reach the highest order is a
// *units.RangeError.
type RenyiOrders struct {
	unreadable
	orders   []float64
	epsilons []fixed.Meter
	prices   []fixed.Amount // of the loss at hand
}

var _ Filter[loss.RDP] = (*RenyiOrders)(nil)

// NewRenyiOrders returns a filter with a budget at each order of the curve given,
// 2^-80 ≤ Epsilon < 2^48 each. The error is a *units.RangeError. The slice is not
// kept.
func NewRenyiOrders(budget loss.RDP) (*RenyiOrders, error) {
	if err := budget.Validate(); err != nil {
		return nil, err
	}
	r := &RenyiOrders{prices: make([]fixed.Amount, len(budget))}
	for _, o := range budget {
		meter, err := limit("epsilon", o.Epsilon)
		if err != nil {
			return nil, err
		}
		r.orders = append(r.orders, o.Alpha)
		r.epsilons = append(r.epsilons, meter)
	}
	return r, nil
}

// Fits reports whether l would be taken.
func (r *RenyiOrders) Fits(l loss.RDP) bool { return r.price(l) == nil && r.fits() }

// Spend takes l, or returns ErrExceeded or a *units.RangeError.
func (r *RenyiOrders) Spend(l loss.RDP) error {
	if err := r.price(l); err != nil {
		return err
	}
	if !r.fits() {
		return ErrExceeded
	}
	for i, price := range r.prices {
		r.epsilons[i].Admit(fixed.Spend, price)
	}
	return nil
}

// Left returns what is left at each order, a fresh slice.
func (r *RenyiOrders) Left() loss.RDP {
	return r.curve(func(m *fixed.Meter) float64 { return m.Left().FloatDown() })
}

// Spent returns the sum of the divergences at each order, rounded up; a fresh slice.
func (r *RenyiOrders) Spent() loss.RDP {
	return r.curve(func(m *fixed.Meter) float64 { return m.Taken().FloatUp() })
}

// Budget returns the budget at each order, rounded down; a fresh slice.
func (r *RenyiOrders) Budget() loss.RDP {
	return r.curve(func(m *fixed.Meter) float64 { return m.Limit().FloatDown() })
}

func (r *RenyiOrders) curve(at func(*fixed.Meter) float64) loss.RDP {
	curve := make(loss.RDP, len(r.orders))
	for i, alpha := range r.orders {
		curve[i] = loss.Order{Alpha: alpha, Epsilon: at(&r.epsilons[i])}
	}
	return curve
}

// Fresh returns a filter of the same budget of which nothing is spent.
func (r *RenyiOrders) Fresh() Filter[loss.RDP] {
	fresh := &RenyiOrders{
		orders:   r.orders, // never changes
		epsilons: make([]fixed.Meter, len(r.epsilons)),
		prices:   make([]fixed.Amount, len(r.prices)),
	}
	for i := range r.epsilons {
		fresh.epsilons[i] = fixed.NewMeter(r.epsilons[i].Limit())
	}
	return fresh
}

// price puts what l costs at each order into r.prices.
func (r *RenyiOrders) price(l loss.RDP) error {
	if err := l.Validate(); err != nil {
		return err
	}
	if err := reaches(l, r.orders[len(r.orders)-1]); err != nil {
		return err
	}
	next := 0
	for i, alpha := range r.orders {
		for l[next].Alpha < alpha {
			next++
		}
		r.prices[i] = fixed.Up(l[next].Epsilon)
	}
	return nil
}

func (r *RenyiOrders) fits() bool {
	for i := range r.epsilons {
		if !r.epsilons[i].Admit(fixed.Ask, r.prices[i]) {
			return false
		}
	}
	return true
}

// reaches returns a *units.RangeError unless l has an order of at least alpha. l is
// valid.
func reaches(l loss.RDP, alpha float64) error {
	if last := l[len(l)-1].Alpha; last < alpha {
		return &units.RangeError{Parameter: "alpha", Value: last, Range: "at least the order of the filter, for one of the orders"}
	}
	return nil
}
