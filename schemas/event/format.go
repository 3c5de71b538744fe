package event

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/formats/spelling"
	"github.com/tollgate-dp/tollgate/internal/base/numbers/wallclock"
	"github.com/tollgate-dp/tollgate/schemas/event/filter"
)

// FormatError describes an invalid Format.
type FormatError struct {
	Field  string // name of the faulty field, for example "time_unit" or "filters[2]"
	Reason string
}

// Error implements error.
func (e *FormatError) Error() string { return "reading event format: " + e.Field + ": " + e.Reason }

func badFormat(field, format string, args ...any) error {
	return &FormatError{Field: field, Reason: fmt.Sprintf(format, args...)}
}

// SchemaSource returns writer schemas by their id in a registry. An error other than
// ErrUnknownSchema and ErrUnfitSchema means that the registry did not respond this time.
type SchemaSource interface {
	Schema(ctx context.Context, id uint32) (string, error)
}

// ErrUnknownSchema means that the registry has no schema with this id.
var ErrUnknownSchema = errors.New("no schema with this id")

// ErrUnfitSchema means that the schema with this id is not Avro, is too long, or refers to others.
var ErrUnfitSchema = errors.New("unfit schema")

// Option is an option of NewDecoder.
type Option func(*Decoder)

// WithSchemas sets the registry for Avro records that begin with a schema id: a zero byte, the id
// in four big-endian bytes, and then the record. Each schema is requested once, with ctx.
func WithSchemas(ctx context.Context, source SchemaSource) Option {
	return func(d *Decoder) { d.ctx, d.schemas = ctx, source }
}

// OnUnfitSchema makes the decoder call fn once for each registered schema that does not describe an
// event, before the first record with that schema becomes a dead letter of ClassUnfitSchema. The
// reason is a *FormatError or ErrUnfitSchema. It may quote the schema, but no record.
func OnUnfitSchema(fn func(id uint32, reason error)) Option {
	return func(d *Decoder) { d.onUnfit = fn }
}

// Check checks the format as NewDecoder does, but requires no SchemaSource. Errors are
// *FormatError.
func (f Format) Check() error {
	_, err := f.compile(nil)
	return err
}

// NewDecoder checks the format and returns a decoder for it. Errors are *FormatError.
func NewDecoder(f Format, options ...Option) (*Decoder, error) {
	d, err := f.compile(options)
	if err != nil {
		return nil, err
	}
	if e := d.encoding; e.Schemas() && f.Schema == "" && d.schemas == nil {
		return nil, badFormat("schema", "%s records need a writer schema: give the contents of an %s file, or a "+
			"schema registry", e.Name, e.SchemaFile)
	}
	return d, nil
}

// NeverEqual describes a comparison in a filter whose result is the same for every record because
// the field never has the type of the constant. It returns "" if there is none.
func (f Format) NeverEqual(text string) string {
	f.Filters = []string{text}
	d, err := f.compile(nil)
	if err != nil {
		return ""
	}
	for _, c := range filter.Comparisons(text) {
		if reason := d.records.neverEqual(slices.Index(d.filter.Names(), c.Field), c.With); reason != "" {
			return fmt.Sprintf("%q never equals %s: %s", c.Field, c.Text, reason)
		}
	}
	return ""
}

// Fields returns the names of the fields that contain the user, key, time and value.
func (f Format) Fields() []string {
	all := slices.Concat([]string{f.User, f.Key, f.Time, f.Value}, f.MoreKeys, f.MoreTimes)
	return slices.DeleteFunc(all, func(name string) bool { return name == "" })
}

// FieldsOf returns the names of the fields to which an Error.Field refers.
func (f Format) FieldsOf(field string) []string {
	names := map[string][]string{"user": {f.User}, "key": append([]string{f.Key}, f.MoreKeys...),
		"time": append([]string{f.Time}, f.MoreTimes...), "value": {f.Value}}[field]
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

func (f Format) compile(options []Option) (*Decoder, error) {
	d := &Decoder{max: cmp.Or(f.MaxRecordBytes, DefaultMaxRecordBytes), decimals: f.Decimals,
		decimalComma: f.DecimalComma, encoding: f.Encoding(), unit: f.TimeUnit, layoutText: f.TimeLayout,
		fields: [fieldCount]string{f.User, f.Key, f.Time, f.Value}, keyParts: 1 + len(f.MoreKeys),
		timeParts: 1 + len(f.MoreTimes), allowNoUser: f.NoUser == NoUserEach, skipNoValue: f.NoValue == NoValueSkip,
		errs: make(map[Error]*Error), onUnfit: func(uint32, error) {}}
	err := f.checkNames(d.encoding)
	if err != nil {
		return nil, err
	}
	if _, err := wallclock.Load(f.WallZone); err != nil {
		return nil, badFormat("wall_zone", "%q: %v", f.WallZone, err)
	}
	d.clock = wallclock.Of(f.WallZone)
	if d.layouts, d.zone, err = f.compileTimes(); err != nil {
		return nil, err
	}
	copy(d.fields[fieldMoreKeys:], f.MoreKeys)
	copy(d.fields[fieldMoreTimes:], f.MoreTimes)
	if err = d.compileFilters(f.Filters); err != nil {
		return nil, err
	}
	d.raw = make([][]byte, fieldCount+len(d.filter.Names()))
	for _, o := range options {
		o(d)
	}
	if d.records, err = d.encoding.compile(d, &f); err != nil {
		return nil, err
	}
	return d, nil
}

// compileTimes returns the layouts and the time zone for times in the unit "text".
func (f *Format) compileTimes() (layouts []timeLayout, zone *time.Location, err error) {
	for _, only := range [...]struct{ field, value string }{{"time_layout", f.TimeLayout}, {"time_zone", f.TimeZone}} {
		if only.value != "" && f.TimeUnit != TimeText {
			return nil, nil, badFormat(only.field, "it is only used with time unit %s, but the time unit is %q",
				TimeText, f.TimeUnit)
		}
	}
	layouts = slices.Clone(usualLayouts)
	if f.TimeLayout != "" {
		layout, err := parseLayout(f.TimeLayout)
		if err != nil {
			return nil, nil, badFormat("time_layout", "%q: %v", f.TimeLayout, err)
		}
		layouts = []timeLayout{layout}
	}
	if zone, err = wallclock.Load(f.TimeZone); err != nil {
		return nil, nil, badFormat("time_zone", "%q: %v", f.TimeZone, err)
	}
	return layouts, zone, nil
}

func (d *Decoder) compileFilters(texts []string) error {
	if len(texts) == 0 {
		return nil
	}
	if len(texts) > filter.MaxFilters {
		return badFormat("filters", "%d different filters; the limit is %d", len(texts), filter.MaxFilters)
	}
	d.filter, d.texts = filter.NewSet(), make(internedTexts)
	for i, text := range texts {
		if err := d.filter.Add(text); err != nil {
			return badFormat(fmt.Sprintf("filters[%d]", i), "%v", err)
		}
	}
	return nil
}

// firstUse returns the FormatError.Field of the first filter that uses the field name.
func (d *Decoder) firstUse(name string) string {
	return fmt.Sprintf("filters[%d]", d.filter.FirstUse(name))
}

// checkNames checks everything except columns, paths and schemas.
func (f Format) checkNames(e Encoding) error {
	switch {
	case !e.Known():
		return badFormat("format", "%q: must be %s", f.Format, Listed(Encoding.Known, " or "))
	case f.TimeUnit == "" && !e.Schemas():
		return badFormat("time_unit", "it is missing: how are times written? s, ms, us or ns (since 1970), rfc3339, "+
			"or text in another layout")
	case f.MaxRecordBytes < 0:
		return badFormat("max_record_bytes", "%d: must be positive", f.MaxRecordBytes)
	case f.Decimals < 0 || f.Decimals > MaxDecimals:
		return badFormat("decimals", "%d: must be from 0 to %d", f.Decimals, MaxDecimals)
	case f.Decimals > 0 && f.Value == "":
		return badFormat("decimals", "decimals need a value field: name one (--value-field, or events.fields.value), "+
			"or leave decimals out")
	case f.DecimalComma && (f.Value == "" || e.Schemas()):
		return badFormat("decimal_comma", "it applies only to a value field that contains text: omit it")
	case f.User == "":
		return badFormat("user", "no user field is named")
	case f.NoUser != "" && f.NoUser != NoUserEach:
		return badFormat("no_user", "%q: must be %s, or empty if such records are broken", f.NoUser, NoUserEach)
	case f.NoValue != "" && f.NoValue != NoValueBroken && (f.NoValue != NoValueSkip || f.Value == ""):
		return badFormat("no_value", "%q: must be broken or, with a value field, skip", f.NoValue)
	case f.Time == "":
		return badFormat("time", "no time field is named")
	case f.Separator != "" && (!e.Quoted || len(f.Separator) > 1 || strings.Contains("\"\r\n", f.Separator)):
		return badFormat("separator", "%q: must be one ASCII character between the fields of %s, such as ;",
			f.Separator, CSV)
	case f.Schema != "" && !e.Schemas():
		return badFormat("schema", "only the format %s has a schema; this is %s", Listed(Encoding.Schemas, " or "),
			f.Format)
	}
	if err := cmp.Or(checkParts("key", MaxKeyParts, f.Key, f.MoreKeys), checkParts("time", MaxTimeParts, f.Time,
		f.MoreTimes)); err != nil {
		return err
	}
	if len(f.MoreTimes) > 0 && f.TimeUnit != TimeText {
		return badFormat("time", "a time of several fields is text, with the unit %s, not %q", TimeText, f.TimeUnit)
	}
	units, empty := TimeUnits(), ""
	if e.Schemas() {
		units, empty = units[:firstSchemalessUnit], ", or empty for that of the logical type"
	}
	if f.TimeUnit != "" && !slices.Contains(units, f.TimeUnit) {
		return badFormat("time_unit", "%q: must be %s%s", f.TimeUnit, spelling.List(units, " or "), empty)
	}
	return nil
}

func (d *Decoder) paths() (paths [fieldCount][]step, err error) {
	for i, text := range d.fields {
		if text == "" {
			continue
		}
		if paths[i], err = parsePath(text); err != nil {
			return paths, badFormat(fieldNames[i], "field %q: %v", text, err)
		}
	}
	return paths, nil
}
