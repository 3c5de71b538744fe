package filter_test

import (
	"bytes"
	"encoding"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/atrest"
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/filter"
	"github.com/tollgate-dp/tollgate/state/loss"
)

// atRest returns a filter as a subject of atrest, used by a loss and, where it has reservations,
// by one that stays open.
func atRest[L any](name string, f filter.Filter[L], first, second L) atrest.Subject {
	fresh := func() atrest.Value { return f.Fresh().(atrest.Value) }
	return atrest.Subject{
		Name:  name,
		Fresh: fresh,
		Zero:  atrest.Zero(fresh()),
		Use: func(v atrest.Value) {
			must(0, v.(filter.Filter[L]).Spend(first))
			if r, ok := v.(filter.Reserver[L]); ok {
				must(0, r.Reserve(second))
			}
		},
		Sound: func(v atrest.Value) string {
			if left := v.(filter.Filter[L]).Left(); exceeds(reflect.ValueOf(left), reflect.ValueOf(f.Fresh().Left())) {
				return fmt.Sprintf("%v is left of %v", left, f.Budget())
			}
			return ""
		},
	}
}

// exceeds says whether a float64 within a is above its counterpart in b.
func exceeds(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.Float64:
		return a.Float() > b.Float()
	case reflect.Struct:
		for i := range a.NumField() {
			if exceeds(a.Field(i), b.Field(i)) {
				return true
			}
		}
	case reflect.Slice:
		for i := range a.Len() {
			if exceeds(a.Index(i), b.Index(i)) {
				return true
			}
		}
	}
	return false
}

func restingSubjects() []atrest.Subject {
	budget := loss.Approx{Epsilon: 1.1, Delta: 1e-5}
	curve := loss.RDP{{Alpha: 2, Epsilon: 0.5}, {Alpha: 16, Epsilon: 1}}
	approx, other := loss.Approx{Epsilon: 0.3, Delta: 1e-6}, loss.Approx{Epsilon: 0.1, Delta: 1e-7}
	rho, rest := loss.ZCDP{Rho: 0.003, Delta: 1e-6}, loss.ZCDP{Rho: 0.001, Delta: 1e-7}
	mixed := must(filter.NewMixed(budget, 2e-6, budget))
	return []atrest.Subject{
		atRest("basic", must(filter.NewBasic(budget)), approx, other),
		atRest("advanced", must(filter.NewAdvanced(budget)), loss.Approx{Epsilon: 0.01, Delta: 1e-6}, other),
		atRest("renyi", must(filter.NewRenyi(8, 0.3)), loss.RDP{{Alpha: 8, Epsilon: 0.1}}, nil),
		atRest("renyi-orders", must(filter.NewRenyiOrders(curve)), loss.RDP{{Alpha: 16, Epsilon: 0.3}}, nil),
		atRest("zcdp", must(filter.NewZCDPOptimal(budget)), loss.ZCDP{Rho: 0.003}, rest),
		atRest("approx-zcdp", must(filter.NewApproxZCDPFor(budget, 3e-6)), rho, rest),
		atRest("gdp", must(filter.NewGDPFor(budget)), loss.GDP{Mu: 0.1}, loss.GDP{}),
		atRest("expost", must(filter.NewExPostApprox(budget)), approx, other),
		atRest("unified", must(filter.NewUnified(0.01, 1e-5)), rho, rest),
		{
			Name:  "mixed",
			Fresh: func() atrest.Value { return must(filter.NewMixed(budget, 2e-6, budget)) },
			Zero:  atrest.Zero(mixed),
			Use: func(v atrest.Value) {
				m := v.(*filter.Mixed)
				must(0, errors.Join(m.Concentrated().Spend(rho), m.ExPost().Spend(approx), m.ExPost().Reserve(other)))
			},
		},
	}
}

func TestStatesAtRest(t *testing.T) {
	for _, s := range restingSubjects() {
		t.Run(s.Name, func(t *testing.T) { atrest.Check(t, s) })
	}
}

func FuzzStates(f *testing.F) { atrest.Fuzz(f, restingSubjects()) }

// resumes is a run in which a filter is stored and resumed at any moment, beside one in
// which it is not.
func resumes[L any](t *testing.T, name string, f filter.Filter[L], scale numbers, in func(numbers) L, out func(L) numbers) {
	t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
		straight, split := f.Fresh(), f.Fresh()
		var open []numbers
		state := func(f filter.Filter[L]) []byte { return must(f.(encoding.BinaryMarshaler).MarshalBinary()) }
		for range rapid.IntRange(1, 20).Draw(t, "calls") {
			if rapid.Bool().Draw(t, "resume") {
				into := f.Fresh()
				if rapid.Bool().Draw(t, "into the zero value") {
					into = reflect.New(reflect.TypeOf(f).Elem()).Interface().(filter.Filter[L])
				}
				if err := into.(encoding.BinaryUnmarshaler).UnmarshalBinary(state(split)); err != nil {
					t.Fatal(err)
				}
				split = into
			}
			n := subject{scale: scale}.draw(t, out(straight.Left()))
			call := func(f filter.Filter[L]) error { return f.Spend(in(n)) }
			if r, ok := straight.(filter.Reserver[L]); ok {
				switch rapid.IntRange(0, 2).Draw(t, "call") {
				case 0:
					call = func(f filter.Filter[L]) error { return f.(filter.Reserver[L]).Reserve(in(n)) }
					if r.Fits(in(n)) {
						open = append(open, n)
					}
				case 1:
					if len(open) == 0 {
						break
					}
					worst := open[0]
					actual := append(numbers{worst[0] * rapid.Float64Range(0, 1.01).Draw(t, "part")}, worst[1:]...)
					call = func(f filter.Filter[L]) error { return f.(filter.Reserver[L]).Settle(in(worst), in(actual)) }
					if actual[0] <= worst[0] {
						open = open[1:]
					}
				}
			}
			if a, b := call(straight), call(split); fmt.Sprint(a) != fmt.Sprint(b) {
				t.Fatalf("%v: without being stored %v, resumed %v", n, a, b)
			}
			if a, b := state(straight), state(split); !bytes.Equal(a, b) {
				t.Fatalf("%v: without being stored %x, resumed %x", n, a, b)
			}
			if !reflect.DeepEqual(straight.Left(), split.Left()) || !reflect.DeepEqual(straight.Spent(), split.Spent()) ||
				!reflect.DeepEqual(straight.Budget(), split.Budget()) || straight.Fits(in(n)) != split.Fits(in(n)) {
				t.Fatalf("%v: left %v and %v, spent %v and %v", n, straight.Left(), split.Left(), straight.Spent(), split.Spent())
			}
			addsUp(t, straight, out)
		}
	}))
}

// addsUp checks that budget, spent, reserved and left are what they say, but for rounding: what is
// spent and left covers the budget, and exceeds it by no more than that.
func addsUp[L any](t *rapid.T, f filter.Filter[L], out func(L) numbers) {
	if _, ok := any(f).(*filter.Advanced); ok {
		return // its ε does not add
	}
	square := func(x float64) float64 { return x }
	if _, ok := any(f).(*filter.GDP); ok {
		square = func(x float64) float64 { return x * x }
	}
	budget, spent, left := out(f.Budget()), out(f.Spent()), out(f.Left())
	reserved := make(numbers, len(budget))
	if r, ok := f.(filter.Reserver[L]); ok {
		reserved = out(r.Reserved())
	}
	for i := range budget {
		sum := square(spent[i]) + square(reserved[i]) + square(left[i])
		if math.Abs(sum-square(budget[i])) > 1e-15*square(budget[i])*4 || spent[i] > budget[i]*(1+0x1p-51) {
			t.Fatalf("number %d: spent %v, reserved %v and left %v of %v", i, spent[i], reserved[i], left[i], budget[i])
		}
	}
}

func TestAStoredFilterGoesOnExactly(t *testing.T) {
	p := loss.Approx{Epsilon: 1.1, Delta: 1e-5}
	orders := []float64{1.5, 8, 64}
	resumes(t, "basic", must(filter.NewBasic(p)), numbers{1.1, 1e-5}, approx, fromApprox)
	resumes(t, "advanced", must(filter.NewAdvanced(p)), numbers{1.1, 5e-6}, approx, fromApprox)
	resumes(t, "renyi", must(filter.NewRenyi(8, 0.3)), numbers{0.3}, renyi(8), fromRenyi)
	resumes(t, "renyi orders", must(filter.NewRenyiOrders(renyi(orders...)(numbers{0.1, 0.3, 0.4}))), numbers{0.1, 0.3, 0.4}, renyi(orders...), fromRenyi)
	resumes(t, "zcdp", must(filter.NewZCDP(p)), numbers{0.01}, plain, fromPlain)
	resumes(t, "approx zcdp", must(filter.NewApproxZCDPFor(p, 3e-6)), numbers{0.01, 3e-6}, concentrated, fromConcentrated)
	resumes(t, "gdp", must(filter.NewGDPFor(p)), numbers{0.2}, gaussian, fromGaussian)
	resumes(t, "ex-post", must(filter.NewExPostApprox(p)), numbers{1.1, 1e-5}, approx, fromApprox)
	resumes(t, "unified", must(filter.NewUnified(0.7, 1e-5)), numbers{0.7, 1e-5}, concentrated, fromConcentrated)
}

// What a type can never be is refused, by what is wrong with it.
func TestImpossibleStatesAreRefused(t *testing.T) {
	g := must(filter.NewGDP(1))
	must(0, g.Spend(loss.GDP{Mu: 0.5}))
	u := must(filter.NewUnified(1, 0.5))
	must(0, u.Reserve(loss.ZCDP{Rho: 0.5}))
	at := func(f encoding.BinaryMarshaler, offset int, bytes ...byte) []byte {
		b := must(f.MarshalBinary())
		copy(b[offset:], bytes)
		return b
	}
	const amount = 32
	one := binary.BigEndian.AppendUint64(nil, 1<<16) // the first 8 bytes of 1 in units of 2^-208
	nan := binary.BigEndian.AppendUint64(nil, math.Float64bits(math.NaN()))
	for name, c := range map[string]struct {
		into atrest.Value
		data []byte
		want string
	}{
		"more spent than the budget":    {new(filter.GDP), at(g, 2+amount, append(one, 1)...), "more is spent and reserved"},
		"more reserved than is left":    {new(filter.Unified), at(u, 2+amount, append(one[:7], 1)...), "more is spent and reserved"},
		"a sum that overflows":          {new(filter.Unified), at(u, 2+amount, bytes.Repeat([]byte{255}, 2*amount)...), "more is spent and reserved"},
		"no budget":                     {new(filter.GDP), at(must(filter.NewGDP(1)), 2, make([]byte, amount)...), "budget is 0"},
		"a budget of everything":        {new(filter.GDP), at(g, 2, bytes.Repeat([]byte{255}, amount)...), "more is spent and reserved"},
		"a δ of 1":                      {new(filter.ApproxZCDP), at(must(filter.NewApproxZCDP(1, 0.5)), 2+2*amount, one...), "delta is 1"},
		"another filter's state":        {new(filter.ZCDP), at(g, 0), "another type (filter.GDP)"},
		"no filter's state":             {new(filter.ZCDP), at(g, 0, 200), "unknown kind 200"},
		"an order of NaN":               {new(filter.Renyi), at(must(filter.NewRenyi(8, 1)), 2, nan...), "alpha"},
		"another budget":                {must(filter.NewGDP(2)), at(g, 0), "another budget"},
		"an ε of NaN":                   {new(filter.Advanced), at(must(filter.NewAdvanced(loss.Approx{Epsilon: 1, Delta: 1e-6})), 2, nan...), "epsilon"},
		"more spent than Advanced has":  {new(filter.Advanced), at(must(filter.NewAdvanced(loss.Approx{Epsilon: 1, Delta: 1e-6})), 2+16+amount, one...), "more is spent"},
		"more orders than there can be": {new(filter.RenyiOrders), []byte{4, 1, 255, 255, 255, 255}, "cut"},
		"no order":                      {new(filter.RenyiOrders), []byte{4, 1, 0, 0, 0, 0}, "orders"},
	} {
		t.Run(name, func(t *testing.T) {
			before, _ := c.into.MarshalBinary()
			err := c.into.UnmarshalBinary(c.data)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if after, _ := c.into.MarshalBinary(); !bytes.Equal(before, after) {
				t.Error("the receiver has changed")
			}
		})
	}
	var out *accounts.DecodeError
	if err := new(filter.ZCDP).UnmarshalBinary(at(g, 0)); !errors.As(err, &out) {
		t.Errorf("%T is not a DecodeError", err)
	}
	for _, zero := range []encoding.BinaryMarshaler{new(filter.GDP), new(filter.Basic), new(filter.RenyiOrders), new(filter.Advanced), new(filter.Mixed)} {
		if b, err := zero.MarshalBinary(); err == nil {
			t.Errorf("%T: the zero value was stored: %x", zero, b)
		}
	}
}

// The parts of a Mixed that were asked for before it was resumed are those that go on.
func TestPartsOfAMixedGoOnWithIt(t *testing.T) {
	p := loss.Approx{Epsilon: 1, Delta: 1e-6}
	used, fresh := must(filter.NewMixed(p, 0, p)), must(filter.NewMixed(p, 0, p))
	must(0, used.ExPost().Spend(loss.Approx{Epsilon: 0.75}))
	part := fresh.ExPost()
	must(0, fresh.UnmarshalBinary(must(used.MarshalBinary())))
	if part.Spend(loss.Approx{Epsilon: 0.5}) == nil {
		t.Error("a part has the budget that it had before")
	}
	if part != fresh.ExPost() {
		t.Error("there are two parts now")
	}
}

// A reservation is as good as spent: storing does not free it, and it is settled afterwards.
func TestReservationsStayOpen(t *testing.T) {
	u := must(filter.NewUnified(1, 0))
	must(0, u.Reserve(loss.ZCDP{Rho: 0.75}))
	var resumed filter.Unified
	must(0, resumed.UnmarshalBinary(must(u.MarshalBinary())))
	if resumed.Left().Rho != 0.25 || resumed.Reserved().Rho != 0.75 || resumed.Spent().Rho != 0 {
		t.Errorf("left %v, reserved %v, spent %v", resumed.Left(), resumed.Reserved(), resumed.Spent())
	}
	must(0, resumed.Settle(loss.ZCDP{Rho: 0.75}, loss.ZCDP{Rho: 0.25}))
	if resumed.Left().Rho != 0.75 || resumed.Reserved().Rho != 0 || resumed.Spent().Rho != 0.25 {
		t.Errorf("left %v, reserved %v, spent %v", resumed.Left(), resumed.Reserved(), resumed.Spent())
	}
}
