package input

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// TimeFlags are the flags that determine how times are read.
type TimeFlags struct {
	Unit, Layout, Zone string
}

func (f *TimeFlags) Register(flags *pflag.FlagSet) {
	f.Unit = event.TimeText
	flags.Var(cli.OneOf(&f.Unit, event.TimeUnits()...), "time-unit", "")
	checked := func(to *string, kind string, check func(string) error) pflag.Value {
		return cli.Parsed(kind, func() string { return *to }, func(text string) error {
			*to = text
			return check(text)
		})
	}
	flags.Var(checked(&f.Layout, "layout", event.CheckLayout), "time-layout", "")
	flags.Var(checked(&f.Zone, "zone", event.CheckZone), "time-zone", "")
}

// Check checks the flags, and sets the default unit for the format of the file.
func (f *TimeFlags) Check(format event.Encoding, changed func(string) bool) error {
	switch {
	case f.Layout != "" && changed("time-unit") && f.Unit != event.TimeText:
		return fmt.Errorf("--time-layout is for times in text: leave out --time-unit %s", f.Unit)
	case format.Schemas() && !changed("time-unit") && f.Layout == "":
		f.Unit = "" // the logical type has a unit
	}
	return nil
}

func (f *TimeFlags) Of(layout *event.Format) {
	layout.TimeUnit, layout.TimeLayout = f.Unit, f.Layout
	if f.Unit == event.TimeText {
		layout.TimeZone = f.Zone
	}
	layout.WallZone = f.Zone
}

// ValueFlags are the flags that determine how values are read.
type ValueFlags struct {
	ValueField    string
	Decimals      int
	comma         bool
	NoValue       string
	SkipBadValues bool
}

func (f *ValueFlags) RegisterValues(flags *pflag.FlagSet) {
	flags.StringVar(&f.ValueField, "value-field", "", "")
	flags.IntVar(&f.Decimals, "decimals", 0, "")
	flags.BoolVar(&f.comma, "decimal-comma", false, "")
	NoValueFlags(flags, &f.NoValue, &f.SkipBadValues)
}

// NoValueFlags adds the flags for the treatment of records whose value cannot be used.
func NoValueFlags(flags *pflag.FlagSet, noValue *string, skipBad *bool) {
	flags.Var(cli.OneOf(noValue, event.NoValueSkip, event.NoValueBroken), "no-value",
		"records whose value is empty, null or missing: skip leaves them out, broken counts them as broken records "+
			"(default broken)")
	flags.BoolVar(skipBad, "skip-bad-values", false, "leave out records whose value cannot be read, however many "+
		"these are")
}

func (f *ValueFlags) Of(layout *event.Format) {
	layout.Value, layout.Decimals, layout.DecimalComma = f.ValueField, f.Decimals, f.comma
	if f.NoValue == event.NoValueSkip {
		layout.NoValue = f.NoValue
	}
}
