package config

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/formats/spelling"
)

// kind is the type of a field.
type kind string

const (
	text     kind = "text"
	path     kind = "path" // relative to the file
	integer  kind = "integer"
	number   kind = "number"
	duration kind = "duration"
	boolean  kind = "true or false"
	list     kind = "list of texts"
	numbers  kind = "list of numbers"
	object   kind = "object"
	objects  kind = "list of objects"
)

// field is one line of the specification.
type field struct {
	name    string
	kind    kind
	unit    string
	meaning string
	// initial is the value of an absent field, as a file would say it. Where that is not
	// one value, absent says in words what an absent field means.
	initial, absent string
	example         string   // a value that works, where initial is not one to show
	called          []string // other names that people write instead, which an error answers
	needed          bool     // an error where absent
	change          changing
	oneOf           []string
	begunWith       []string // further values: of deployments that have begun with them
	in              *limits
	goField         string  // the field of deployment.Config that it sets, or those of the metric
	fields          []field // of an object, or of every object of a list
	// optional objects give their fields no defaults where they are absent.
	optional bool
	// plain lets true stand for an object with all defaults and false for none.
	plain bool
	// single lets a text stand for a list of one.
	single bool
	// to is where the value goes, if that is not goField: see place.
	to func(d *draft) any
}

// place returns where a value goes: *string, *int, *int64, *float64, *time.Duration, *bool,
// *[]string, *[]float64 or *secret.Of[string].
func (f *field) place(d *draft) any {
	if f.to != nil {
		return f.to(d)
	}
	v := d.field(f.goField)
	if v.Kind() == reflect.String {
		return v.Addr().Convert(reflect.TypeFor[*string]()).Interface() // also of a named type
	}
	return v.Addr().Interface()
}

// begin prepares the draft for an object that is there.
func (f *field) begin(d *draft) {
	if !f.optional {
		return
	}
	if v := d.field(f.goField); v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
	}
}

// limits are the ends of an interval of numbers, or of durations in nanoseconds.
type limits struct {
	low, high   float64
	open, below bool // low, or high, is not in it
}

func within(low, high float64) *limits { return &limits{low: low, high: high} }
func atLeast(low float64) *limits      { return &limits{low: low, high: math.Inf(1)} }
func above(low float64) *limits        { return &limits{low: low, high: math.Inf(1), open: true} }
func below(low, high float64) *limits  { return &limits{low: low, high: high, below: true} }
func between(low, high float64) *limits {
	return &limits{low: low, high: high, open: true, below: true}
}

func (l *limits) contain(v float64) bool {
	return (v > l.low || v == l.low && !l.open) && (v < l.high || v == l.high && !l.below)
}

// text says what a value must be.
func (l *limits) text(k kind) string {
	show := func(v float64) string {
		if k == duration {
			return Duration(time.Duration(v))
		}
		if v == math.Trunc(v) && math.Abs(v) < 1e15 {
			return strconv.FormatFloat(v, 'f', -1, 64)
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	switch {
	case math.IsInf(l.high, 1) && l.open:
		return "above " + show(l.low)
	case math.IsInf(l.high, 1):
		return "at least " + show(l.low)
	case l.below && !l.open:
		return fmt.Sprintf("at least %s and below %s", show(l.low), show(l.high))
	case l.open && l.below:
		return fmt.Sprintf("above %s and below %s", show(l.low), show(l.high))
	case l.open:
		return fmt.Sprintf("above %s and at most %s", show(l.low), show(l.high))
	}
	return fmt.Sprintf("from %s to %s", show(l.low), show(l.high))
}

// meant returns the field that is probably meant by a name that no field has; "" if that is not
// clear.
func meant(fields []field, name string) string {
	for i := range fields {
		if slices.Contains(fields[i].called, strings.ToLower(name)) {
			return fields[i].name
		}
	}
	return spelling.Nearest(names(fields), name)
}

func find(fields []field, name string) *field {
	for i := range fields {
		if fields[i].name == name {
			return &fields[i]
		}
	}
	return nil
}

// working returns a text that ends the error of a value: one that works, and what an absent
// field means.
func (f *field) working() string {
	switch {
	case f.example != "":
		return ", for example " + f.example
	case f.initial != "":
		return "; the default is " + f.initial
	}
	return ""
}

// orLeaveOut begins the remedy for a field without a value: it can be left out only where it is not
// needed.
func (f *field) orLeaveOut() string {
	if f.needed {
		return ""
	}
	return "leave the field out, or "
}

// changing says how the value of a field changes in a deployment that has begun: "" by starting
// its next run with it.
type changing string

const (
	byChange  changing = "`change`"
	downwards changing = "`change`, down"
	newName   changing = "new name"
	never     changing = "never"
	// byFields is for the fields that locate values in a record.
	byFields changing = "[depends](#where-fields-stand)"
)
