package settings

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/base/formats/timespan"
	"github.com/tollgate-dp/tollgate/schemas/secret"
)

// Set parses text into v and returns "". If text is invalid, it returns the reason. v must be
// settable, with the type of the field in deployment.Config. Set appends to a list.
func (f *Field) Set(v reflect.Value, text string) string {
	kind := f.Kind
	if kind == Numbers {
		kind = Number
	}
	switch kind {
	case Integer:
		n, reason := parseInteger(text)
		if reason != "" {
			return reason
		}
		v.SetInt(n)
	case Number:
		n, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
		if err != nil || math.IsNaN(n) || math.IsInf(n, 0) || strings.ContainsAny(text, "xXpP") {
			return Quote(text) + " is not a number, like 0.05 or 1e-6"
		}
		if f.Kind == Numbers {
			v.Set(reflect.Append(v, reflect.ValueOf(n)))
			return f.inRange(n, n)
		}
		v.SetFloat(n)
	case Duration:
		d, err := timespan.Parse(text)
		if err != nil {
			return fmt.Sprintf("%q: %v", text, err)
		}
		v.SetInt(int64(d))
	case Boolean:
		if text != "true" && text != "false" {
			return Quote(text) + " is neither true nor false"
		}
		v.SetBool(text == "true")
	case List:
		v.Set(reflect.Append(v, reflect.ValueOf(text)))
	default:
		target, hidden := v.Addr().Interface().(*secret.Of[string])
		if hidden {
			text = strings.TrimRight(text, "\r\n")
		}
		switch {
		case text == "":
			return "it is empty; " + f.OrLeaveOut() + "give it a value" + f.ExampleSuffix()
		case hidden:
			*target = secret.New(text)
		default:
			v.SetString(text)
		}
	}
	return f.Check(v)
}

// OrLeaveOut returns the beginning of the remedy for an empty value: leave an optional field out.
func (f *Field) OrLeaveOut() string {
	if f.Required {
		return ""
	}
	return "leave the field out, or "
}

// parseInteger returns the integer in text, or the reason why text is not an integer.
func parseInteger(text string) (n int64, reason string) {
	plain := strings.ReplaceAll(text, "_", "")
	digits := strings.TrimPrefix(plain, "-")
	n, err := strconv.ParseInt(plain, 10, 64)
	if err == nil && len(digits) <= 18 && (len(digits) == 1 || digits[0] != '0') {
		return n, ""
	}
	hint := ", like 24"
	if v, err := strconv.ParseFloat(plain, 64); err == nil && v == math.Trunc(v) && math.Abs(v) < 1e15 {
		hint = fmt.Sprintf(": write it out, as %.0f", v)
	}
	return 0, Quote(text) + " is not a whole number of at most 18 digits" + hint
}

// Value returns the field at a path in a configuration. If the path begins with Metrics, metric is
// the index of the metric. ok is false if a struct on the path is nil.
func Value(config reflect.Value, path string, metric int) (v reflect.Value, ok bool) {
	v = config
	for name := range strings.SplitSeq(path, ".") {
		switch v.Kind() {
		case reflect.Pointer:
			if v.IsNil() {
				return v, false
			}
			v = v.Elem()
		case reflect.Slice:
			v = v.Index(metric)
		default:
		}
		v = v.FieldByName(name)
	}
	return v, true
}

// Check returns the path of the first missing or invalid field of the deployment.Config to which
// config points, and the reason; both are "" if all fields are valid. An absent field may be zero.
func Check(config any) (path, reason string) {
	walk(reflect.ValueOf(config).Elem(), Table(), -1, func(f *Field, fieldPath string, v reflect.Value) {
		switch {
		case reason != "":
		case f.Required && (f.Kind == Text || f.Kind == List) && v.Len() == 0:
			path, reason = fieldPath, f.Missing()
		case f.Required || !v.IsZero():
			path, reason = fieldPath, f.Check(v)
		}
	})
	return path, reason
}

// Fill sets the defaults in the deployment.Config to which config points.
func Fill(config any) {
	walk(reflect.ValueOf(config).Elem(), Table(), -1, func(f *Field, _ string, v reflect.Value) {
		if f.Default != "" && v.IsZero() {
			f.Set(v, f.Default)
		}
	})
}

// walk calls visit for every field of a configuration that is not an object, with the field's path.
func walk(config reflect.Value, fields []Field, metric int, visit func(f *Field, path string, v reflect.Value)) {
	for i := range fields {
		f := &fields[i]
		switch {
		case f.Kind == Objects:
			for m := range config.FieldByName(f.Path).Len() {
				walk(config, f.Fields, m, visit)
			}
		case f.Kind == Object:
			walk(config, f.Fields, metric, visit)
		case f.Path != "" && !f.Converted:
			if v, ok := Value(config, f.Path, metric); ok {
				visit(f, strings.Replace(f.Path, "Metrics.", fmt.Sprintf("Metrics[%d].", metric), 1), v)
			}
		}
	}
}
