package commands

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/tollgate-dp/tollgate/internal/app/eventfile"
)

// inputFlags say which file is read, and how.
type inputFlags struct {
	input                          string
	inputFormat                    string
	header                         bool
	columns                        []string
	userField, keyField, timeField string
	timeUnit                       timeUnit
	from, to                       timeValue
}

func (f *inputFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.input, "input", "", "file with your own events")
	flags.StringVar(&f.inputFormat, "input-format", "", anyFormat()+" (default: by the name of the file)")
	flags.BoolVar(&f.header, "header", false, "the first record of a "+rowFormats(" or ")+" file names the columns")
	flags.StringSliceVar(&f.columns, "columns", nil, "names of the columns if the file has no header: a,b,c")
	flags.StringVar(&f.userField, "user-field", "", "column with the user's id, or path of a field: user.id")
	flags.StringVar(&f.keyField, "key-field", "", "column or path of the key; without it all events are counted together")
	flags.StringVar(&f.timeField, "time-field", "", "column or path of the time of the event")
	f.timeUnit = "rfc3339"
	flags.Var(&f.timeUnit, "time-unit", "how times are written: seconds, milliseconds or microseconds since 1970, or RFC 3339 (default for "+schemaFormats()+": as the schema says)")
	flags.Var(&f.from, "from", "start of the first window, RFC 3339 or 2006-01-02 in UTC; without it a single early record can add windows")
	flags.Var(&f.to, "to", "end of the last window; without it a single late record can add windows")
}

// checkInput decides the layout of the file.
func (f *inputFlags) checkInput(changed func(string) bool) error {
	format, err := inputFormatOf(f.input, f.inputFormat)
	if err != nil {
		return err
	}
	f.inputFormat = format.Name
	if format.Schemas() && !changed("time-unit") {
		f.timeUnit = "" // the unit of the logical type
	}
	switch {
	case f.userField == "":
		return errors.New("--user-field is needed: the column or path with the user's id")
	case f.timeField == "":
		return errors.New("--time-field is needed: the column or path with the time of the event")
	case !format.Tabular() && (f.header || len(f.columns) > 0):
		return fmt.Errorf("--header and --columns are for %s: other formats name their fields", rowFormats(" and "))
	case format.Tabular() && f.header == (len(f.columns) > 0):
		return errors.New("give either --header, when the first record names the columns, or --columns a,b,c")
	}
	if len(f.columns) > 0 {
		fields := []string{f.userField, f.timeField}
		if f.keyField != "" {
			fields = append(fields, f.keyField)
		}
		if err := eventfile.CheckColumns(f.columns, fields...); err != nil {
			return fmt.Errorf("--columns: %w", err)
		}
	}
	return nil
}
