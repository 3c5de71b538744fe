package settings

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/formats/spelling"
	"github.com/tollgate-dp/tollgate/internal/base/formats/timespan"
)

// Kind is the type of a field in a file.
type Kind string

// All kinds of fields.
const (
	Text     Kind = "string"
	File     Kind = "path" // relative to the configuration file
	Integer  Kind = "integer"
	Number   Kind = "number"
	Duration Kind = "duration"
	Boolean  Kind = "true or false"
	List     Kind = "list of strings"
	Numbers  Kind = "list of numbers"
	Object   Kind = "object"
	Objects  Kind = "list of objects"
)

// Field is one row of the settings table.
type Field struct {
	Name         string // in a file
	Path         string // in deployment.Config, without indices; "" if only a file has the field
	Kind         Kind
	Unit         string
	Meaning      string
	Default      string   // value of an absent field, as in a file
	Absent       string   // meaning of an absent field, if Default cannot express it
	Example      string   // a valid value, unless Default shows one
	Called       []string // wrong names that people write instead
	Required     bool     // must be present
	Change       Change
	OneOf        []string
	LegacyValues []string // values that are valid only in a deployment that began with them
	In           *Range
	Fields       []Field // fields of an object, or of every object of a list
	Optional     bool    // whether the fields of an absent object get no defaults
	Switch       bool    // also accepts true (an object with all defaults) and false (no object)
	Single       bool    // also accepts a string, as a list with one entry
	Converted    bool    // package config converts the value in a file before it sets Path
}

// Change describes how to change the field of a deployment that has begun; "": by a new run.
type Change string

const (
	byChange  Change = "`change`"
	downwards Change = "`change`, but only to a lower value"
	newName   Change = "new name"
	byPeriod  Change = "[at the end of a period](runbook.md#another-user-hash-key)"
	never     Change = "never"
	byFields  Change = "[depends](#where-fields-stand)" // for fields that locate values in a record
)

// Range is an interval of numbers, or of durations in nanoseconds.
type Range struct {
	Low, High                 float64
	LowExcluded, HighExcluded bool // whether Low or High itself is outside the range
}

func within(low, high float64) *Range { return &Range{Low: low, High: high} }
func atLeast(low float64) *Range      { return &Range{Low: low, High: math.Inf(1)} }
func above(low float64) *Range        { return &Range{Low: low, High: math.Inf(1), LowExcluded: true} }
func upTo(high float64) *Range        { return &Range{High: high, LowExcluded: true} }
func below(low, high float64) *Range  { return &Range{Low: low, High: high, HighExcluded: true} }
func between(low, high float64) *Range {
	return &Range{Low: low, High: high, LowExcluded: true, HighExcluded: true}
}

// Contains reports whether a finite number is in the interval.
func (r *Range) Contains(v float64) bool {
	return (v > r.Low || v == r.Low && !r.LowExcluded) && (v < r.High || v == r.High && !r.HighExcluded) &&
		!math.IsInf(v, 0)
}

// Text describes the range in words, for values of kind k.
func (r *Range) Text(k Kind) string {
	show := func(v float64) string {
		if k == Duration {
			return timespan.Text(time.Duration(v))
		}
		if v == math.Trunc(v) && math.Abs(v) < 1e15 {
			return strconv.FormatFloat(v, 'f', -1, 64)
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	switch {
	case math.IsInf(r.High, 1) && r.LowExcluded:
		return "above " + show(r.Low)
	case math.IsInf(r.High, 1):
		return "at least " + show(r.Low)
	case r.HighExcluded && !r.LowExcluded:
		return fmt.Sprintf("at least %s and below %s", show(r.Low), show(r.High))
	case r.LowExcluded && r.HighExcluded:
		return fmt.Sprintf("above %s and below %s", show(r.Low), show(r.High))
	case r.LowExcluded:
		return fmt.Sprintf("above %s and at most %s", show(r.Low), show(r.High))
	}
	return fmt.Sprintf("from %s to %s", show(r.Low), show(r.High))
}

// Check returns why a value is invalid, with an example of a valid one, or "" if it is valid. The
// value must have the type of the field in deployment.Config.
func (f *Field) Check(v reflect.Value) string {
	switch {
	case f.Kind == Duration:
		d := time.Duration(v.Int())
		if d%time.Millisecond != 0 {
			return fmt.Sprintf("%v is not a whole number of milliseconds", d)
		}
		return f.inRange(float64(d), timespan.Text(d))
	case v.CanInt():
		return f.inRange(float64(v.Int()), v)
	case v.CanFloat():
		return f.inRange(v.Float(), v)
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			if reason := f.Check(v.Index(i)); reason != "" {
				return reason
			}
		}
	case v.Kind() == reflect.String && len(f.OneOf) > 0:
		if slices.Contains(f.OneOf, v.String()) || slices.Contains(f.LegacyValues, v.String()) {
			return ""
		}
		hint := ""
		if near := spelling.Nearest(f.OneOf, v.String()); near != "" {
			hint = "; did you mean " + near + "?"
		}
		return fmt.Sprintf("%s is not one of %s%s", Quote(v.String()), strings.Join(f.OneOf, ", "), hint)
	}
	return ""
}

func (f *Field) inRange(v float64, text any) string {
	if f.In == nil || f.In.Contains(v) {
		return ""
	}
	return fmt.Sprintf("%v is out of range: it must be %s%s", text, f.In.Text(f.Kind), f.ExampleSuffix())
}

// ExampleSuffix returns the end of an error message that shows a valid value; "" if none is known.
func (f *Field) ExampleSuffix() string {
	switch {
	case f.Example != "":
		return ", for example " + f.Example
	case f.Default != "":
		return "; the default is " + f.Default
	}
	return ""
}

// Missing returns the error text for a required field that is absent.
func (f *Field) Missing() string {
	meaning, _, _ := strings.Cut(f.Meaning, ". ") // the first sentence
	hint := ""
	if f.Example != "" {
		hint = "; for example `" + f.Name + ": " + f.Example + "`"
	}
	return "it is missing: " + meaning + hint
}

// Find returns the field with the given name in a file, or nil.
func Find(fields []Field, name string) *Field {
	for i := range fields {
		if fields[i].Name == name {
			return &fields[i]
		}
	}
	return nil
}

// Meant returns the field that an unknown name probably stands for, or "". hint suggests that
// field; without one, hint lists all fields.
func Meant(fields []Field, name string) (meant string, hint string) {
	var all []string
	for i := range fields {
		if all = append(all, fields[i].Name); slices.Contains(fields[i].Called, strings.ToLower(name)) {
			meant = fields[i].Name
		}
	}
	if meant == "" {
		meant = spelling.Nearest(all, name)
	}
	if meant == "" {
		return "", "; the fields are " + strings.Join(all, ", ")
	}
	return meant, "; did you mean " + meant + "?"
}

// Quote quotes a value. It shortens a long value to 60 characters.
func Quote(text string) string {
	if runes := []rune(text); len(runes) > 60 {
		text = string(runes[:59]) + "…"
	}
	return strconv.Quote(text)
}
