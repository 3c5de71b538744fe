package filter

import (
	"github.com/tollgate-dp/tollgate/state/internal/fixed"
	"github.com/tollgate-dp/tollgate/state/internal/stored"
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
	filterOf[loss.RDP, renyi, *renyi]
}

type renyi struct {
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
	return &Renyi{newFilter[loss.RDP](renyi{order, meter})}, nil
}

// Fresh returns a filter of the same budget of which nothing is spent.
func (r *Renyi) Fresh() Filter[loss.RDP] { return &Renyi{r.fresh()} }

func (r *renyi) admit(act fixed.Act, l loss.RDP) error {
	if err := l.Validate(); err != nil {
		return err
	}
	if err := reaches(l, r.order); err != nil {
		return err
	}
	i := 0
	for l[i].Alpha < r.order {
		i++
	}
	return exceeded(r.epsilons.Admit(act, fixed.Up(l[i].Epsilon)))
}

func (r *renyi) at(epsilon float64) loss.RDP { return loss.RDP{{Alpha: r.order, Epsilon: epsilon}} }
func (r *renyi) left() loss.RDP              { return r.at(r.epsilons.Left().FloatDown()) }
func (r *renyi) spent() loss.RDP             { return r.at(r.epsilons.Taken().FloatUp()) }
func (r *renyi) budget() loss.RDP            { return r.at(r.epsilons.Limit().FloatDown()) }
func (r *renyi) fresh() renyi                { return renyi{r.order, r.epsilons.Fresh()} }

func (*renyi) Kind() stored.Kind { return "filter.Renyi" }

func (r *renyi) Layout(c *stored.Codec) {
	c.Parameters.Float(&r.order)
	c.Fail(loss.RDP{{Alpha: r.order}}.Validate())
	layoutLoss(c, &r.epsilons, false)
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
	filterOf[loss.RDP, renyiOrders, *renyiOrders]
}

type renyiOrders struct {
	orders   []float64 // never changes
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
	r := renyiOrders{prices: make([]fixed.Amount, len(budget))}
	for _, o := range budget {
		meter, err := limit("epsilon", o.Epsilon)
		if err != nil {
			return nil, err
		}
		r.orders = append(r.orders, o.Alpha)
		r.epsilons = append(r.epsilons, meter)
	}
	return &RenyiOrders{newFilter[loss.RDP](r)}, nil
}

// Fresh returns a filter of the same budget of which nothing is spent.
func (r *RenyiOrders) Fresh() Filter[loss.RDP] { return &RenyiOrders{r.fresh()} }

func (r *renyiOrders) admit(act fixed.Act, l loss.RDP) error {
	if err := r.price(l); err != nil {
		return err
	}
	for i, price := range r.prices {
		if !r.epsilons[i].Admit(fixed.Ask, price) {
			return ErrExceeded
		}
	}
	for i, price := range r.prices {
		r.epsilons[i].Admit(act, price)
	}
	return nil
}

func (r *renyiOrders) left() loss.RDP {
	return r.curve(func(m *fixed.Meter) float64 { return m.Left().FloatDown() })
}

func (r *renyiOrders) spent() loss.RDP {
	return r.curve(func(m *fixed.Meter) float64 { return m.Taken().FloatUp() })
}

func (r *renyiOrders) budget() loss.RDP {
	return r.curve(func(m *fixed.Meter) float64 { return m.Limit().FloatDown() })
}

func (r *renyiOrders) curve(at func(*fixed.Meter) float64) loss.RDP {
	curve := make(loss.RDP, len(r.orders))
	for i, alpha := range r.orders {
		curve[i] = loss.Order{Alpha: alpha, Epsilon: at(&r.epsilons[i])}
	}
	return curve
}

func (r *renyiOrders) fresh() renyiOrders {
	fresh := renyiOrders{r.orders, make([]fixed.Meter, len(r.epsilons)), make([]fixed.Amount, len(r.prices))}
	for i := range r.epsilons {
		fresh.epsilons[i] = r.epsilons[i].Fresh()
	}
	return fresh
}

func (*renyiOrders) Kind() stored.Kind { return "filter.RenyiOrders" }

func (r *renyiOrders) Layout(c *stored.Codec) {
	n := len(r.orders)
	c.Parameters.Length(&n, 8+2*fixed.Size)
	if c.Reading() {
		*r = renyiOrders{make([]float64, n), make([]fixed.Meter, n), make([]fixed.Amount, n)}
	}
	for i := range r.orders {
		c.Parameters.Float(&r.orders[i])
		layoutLoss(c, &r.epsilons[i], false)
	}
	c.Fail(r.budget().Validate())
}

// price puts what l costs at each order into r.prices.
func (r *renyiOrders) price(l loss.RDP) error {
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

// reaches returns a *units.RangeError unless l has an order of at least alpha. l is
// valid.
func reaches(l loss.RDP, alpha float64) error {
	if last := l[len(l)-1].Alpha; last < alpha {
		return &units.RangeError{Parameter: "alpha", Value: last, Range: "at least the order of the filter, for one of the orders"}
	}
	return nil
}
