package odometer_test

import (
	"bytes"
	"encoding"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/atrest"
	"github.com/tollgate-dp/tollgate/state/filter"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/odometer"
)

// resting is an odometer as a subject of atrest, and a run of it that is stored and resumed
// anywhere.
type resting struct {
	atrest.Subject
	goesOn func(*rapid.T)
}

// rest returns the odometers that fresh makes, which record of(x) for 0 ≤ x ≤ 1.
func rest[L, B any](name string, fresh func() odometer.Odometer[L, B], of func(float64) L) resting {
	value := func() atrest.Value { return pointer(fresh()) }
	recorder := func(v any) odometer.Odometer[L, B] { return v.(odometer.Odometer[L, B]) }
	s := atrest.Subject{
		Name:  name,
		Fresh: value,
		Zero:  atrest.Zero(value()),
		Use: func(v atrest.Value) {
			for _, x := range []float64{0.5, 0.3, 0.9} {
				must(0, recorder(v).Record(of(x)))
			}
		},
	}
	if _, ok := any(value()).(*odometer.Tracker[L]); ok {
		s.Zero = nil // does not know its filter
	}
	return resting{s, func(t *rapid.T) {
		state := func(v any) []byte { return must(v.(encoding.BinaryMarshaler).MarshalBinary()) }
		straight, split := value(), value()
		for range rapid.IntRange(1, 20).Draw(t, "losses") {
			l := of(rapid.Float64Range(0, 1).Draw(t, "loss"))
			if rapid.Bool().Draw(t, "resume") {
				into := value()
				if s.Zero != nil && rapid.Bool().Draw(t, "into the zero value") {
					into = s.Zero()
				}
				must(0, into.UnmarshalBinary(state(split)))
				split = into
			}
			if a, b := recorder(straight).Record(l), recorder(split).Record(l); fmt.Sprint(a) != fmt.Sprint(b) {
				t.Fatalf("%v and, resumed, %v", a, b)
			}
			if a, b := recorder(straight).Bound(), recorder(split).Bound(); !reflect.DeepEqual(a, b) {
				t.Fatalf("%v and, resumed, %v", a, b)
			}
			if a, b := state(straight), state(split); !bytes.Equal(a, b) {
				t.Fatalf("%x and, resumed, %x", a, b)
			}
		}
	}}
}

// pointer returns what can be read into: odometers that are values have methods of pointers for it.
func pointer(o any) atrest.Value {
	if v, ok := o.(atrest.Value); ok {
		return v
	}
	p := reflect.New(reflect.TypeOf(o))
	p.Elem().Set(reflect.ValueOf(o))
	return p.Interface().(atrest.Value)
}

func restingSubjects() []resting {
	type (
		approx  = odometer.Odometer[loss.Approx, loss.Approx]
		gdp     = odometer.Odometer[loss.GDP, loss.GDP]
		zcdp    = odometer.Odometer[loss.ZCDP, loss.ZCDP]
		rdp     = odometer.Odometer[loss.RDP, loss.RDP]
		byRenyi = odometer.Odometer[loss.RDP, loss.Approx]
	)
	ofApprox := func(x float64) loss.Approx { return loss.Approx{Epsilon: x, Delta: x * 1e-7} }
	ofGDP := func(x float64) loss.GDP { return loss.GDP{Mu: x} }
	ofZCDP := func(x float64) loss.ZCDP { return loss.ZCDP{Rho: x} }
	ofRDP := func(x float64) loss.RDP { return loss.RDP{{Alpha: 2, Epsilon: x}, {Alpha: 16, Epsilon: 8 * x}} }
	orders := []float64{2, 16}
	return []resting{
		rest("basic", func() approx { return must(odometer.NewBasic(1e-6)) }, ofApprox),
		rest("advanced", func() approx { return must(odometer.NewAdvanced(1e-6, 1000)) }, ofApprox),
		rest("renyi", func() byRenyi { return must(odometer.NewRenyi(1e-6, orders)) }, ofRDP),
		rest("concentrated", func() odometer.Odometer[loss.ZCDP, loss.Approx] {
			return must(odometer.NewConcentrated(1e-6, 0.5))
		}, ofZCDP),
		rest("gdp-total", func() gdp { return new(odometer.GDPTotal) }, ofGDP),
		rest("zcdp-total", func() zcdp { return new(odometer.ZCDPTotal) }, func(x float64) loss.ZCDP { return loss.ZCDP{Rho: x, Delta: x / 64} }),
		rest("renyi-total", func() rdp { return must(odometer.NewRenyiTotal(orders)) }, ofRDP),
		rest("tracker", func() odometer.Odometer[loss.GDP, uint64] {
			return odometer.NewTracker(must(filter.NewGDP(1)))
		}, ofGDP),
	}
}

func TestStatesAtRest(t *testing.T) {
	for _, s := range restingSubjects() {
		t.Run(s.Name, func(t *testing.T) { atrest.Check(t, s.Subject) })
	}
}

func TestAStoredOdometerGoesOnExactly(t *testing.T) {
	for _, s := range restingSubjects() {
		t.Run(s.Name, rapid.MakeCheck(s.goesOn))
	}
}

func FuzzStates(f *testing.F) {
	var subjects []atrest.Subject
	for _, s := range restingSubjects() {
		subjects = append(subjects, s.Subject)
	}
	atrest.Fuzz(f, subjects)
}

// The parameter that is stored is in the range in which it is read, whatever it was computed of.
func TestEveryConcentratedComesBack(t *testing.T) {
	for _, delta := range []float64{1e-300, 1e-6, 0.5, math.Nextafter(1, 0)} {
		for _, rho := range []float64{0x1p-40, 1, 0x1p40} {
			o := must(odometer.NewConcentrated(delta, rho))
			must(0, o.Record(loss.ZCDP{Rho: rho}))
			var resumed odometer.Concentrated
			if err := resumed.UnmarshalBinary(must(o.MarshalBinary())); err != nil || resumed.Bound() != o.Bound() {
				t.Errorf("(%v, %v): %v, %v and %v", delta, rho, err, o.Bound(), resumed.Bound())
			}
		}
	}
}

// without is a filter that cannot be stored.
type without struct{ filter.Filter[loss.GDP] }

func (w without) Fresh() filter.Filter[loss.GDP] { return without{w.Filter.Fresh()} }

func TestATrackerOfAFilterThatCannotBeStored(t *testing.T) {
	tracker := odometer.NewTracker(without{must(filter.NewGDP(1))})
	must(0, tracker.Record(loss.GDP{Mu: 1}))
	if b, err := tracker.MarshalBinary(); err == nil || !strings.Contains(err.Error(), "has no MarshalBinary") {
		t.Errorf("%x, %v", b, err)
	}
}

func TestWhatWasRecordedIsTold(t *testing.T) {
	b, a := must(odometer.NewBasic(1e-6)), must(odometer.NewAdvanced(1e-6, 1000))
	r, c := must(odometer.NewRenyi(1e-6, []float64{2})), must(odometer.NewConcentrated(1e-6, 1))
	for range 2 {
		must(0, b.Record(loss.Approx{Epsilon: 0.25, Delta: 0x1p-20}))
		must(0, a.Record(loss.Approx{Epsilon: 0.25, Delta: 0x1p-20}))
		must(0, r.Record(loss.RDP{{Alpha: 2, Epsilon: 0.25}}))
		must(0, c.Record(loss.ZCDP{Rho: 0.25}))
	}
	want := loss.Approx{Epsilon: 0.5, Delta: 0x1p-19}
	if b.Spent() != want || a.Spent() != want || r.Spent()[0] != (loss.Order{Alpha: 2, Epsilon: 0.5}) || c.Spent().Rho != 0.5 {
		t.Errorf("%v, %v, %v, %v", b.Spent(), a.Spent(), r.Spent(), c.Spent())
	}
}
