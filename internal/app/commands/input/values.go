package input

import (
	"github.com/spf13/pflag"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// ValueFlags say how values are read.
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

// NoValueFlags adds the flags that say what happens to records whose value cannot be used.
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
