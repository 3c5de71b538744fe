package demo

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/commands/input"
	"github.com/tollgate-dp/tollgate/internal/app/demo"
	"github.com/tollgate-dp/tollgate/internal/app/eventfile"
	"github.com/tollgate-dp/tollgate/internal/app/plan/choice"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// inputFlags say which file is read, and how.
type inputFlags struct {
	input                          string
	inputFormat                    string
	separator, encoding            string
	header                         bool
	columns                        []string
	userField, keyField, timeField string
	noUser                         string
	times                          input.TimeFlags
	skipBadTimes, skipUndecodable  bool
	badValues                      uint64 // records whose value cannot be read
	from, to                       command.TimeValue
	kindFlags
}

func (f *inputFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.input, "input", "", "")
	flags.StringVar(&f.inputFormat, "input-format", "", "")
	flags.StringVar(&f.separator, "separator", "", "")
	input.EncodingFlag(flags, &f.encoding)
	flags.BoolVar(&f.header, "header", false, "")
	flags.StringSliceVar(&f.columns, "columns", nil, "")
	flags.StringVar(&f.userField, "user-field", "", "")
	input.NoUserFlag(flags, &f.noUser)
	flags.StringVar(&f.keyField, "key-field", "", "")
	flags.StringVar(&f.timeField, "time-field", "", "")
	f.times.Register(flags)
	flags.BoolVar(&f.skipBadTimes, "skip-bad-times", false, "")
	flags.BoolVar(&f.skipUndecodable, "skip-undecodable", false, "")
	flags.Var(&f.from, "from", "")
	flags.Var(&f.to, "to", "")
}

// checkInput decides the layout of the file.
func (f *inputFlags) checkInput(changed func(string) bool) error {
	format, err := input.InputFormatOf(f.input, f.inputFormat)
	if err != nil {
		return err
	}
	f.inputFormat = format.Name
	if err := input.CheckEncoding(f.encoding, format); err != nil {
		return err
	}
	if f.separator != "" && !format.Quoted {
		return fmt.Errorf("--separator is for %s", input.QuotedFormats())
	}
	if err := f.times.Check(format, changed); err != nil {
		return err
	}
	switch {
	case f.userField == "":
		return errors.New("--user-field is needed: the column or path with the user's id")
	case f.timeField == "":
		return errors.New("--time-field is needed: the column or path with the time of the event")
	case !format.Tabular() && (f.header || len(f.columns) > 0):
		return fmt.Errorf("--header and --columns are for %s: other formats name their fields",
			input.RowFormats(" and "))
	case format.Tabular() && f.header == (len(f.columns) > 0):
		return errors.New("give either --header, when the first record names the columns, or --columns a,b,c")
	}
	if len(f.columns) > 0 {
		if err := eventfile.CheckColumns(f.columns, f.layout().Fields()...); err != nil {
			return fmt.Errorf("--columns: %w", err)
		}
	}
	return nil
}

// layout returns how the records of the file are read, but for what the file says of them.
func (f *inputFlags) layout() event.Format {
	layout := event.Format{
		Separator: f.separator, Charset: f.encoding,
		Format: f.inputFormat, Columns: f.columns, User: f.userField, MaxRecordBytes: demo.MaxRecordBytes,
	}
	layout.Key, layout.MoreKeys = input.SeveralFields(f.keyField)
	layout.Time, layout.MoreTimes = input.SeveralFields(f.timeField)
	f.times.Of(&layout)
	f.ValueFlags.Of(&layout)
	if f.noUser == event.NoUserEach {
		layout.NoUser = f.noUser
	}
	return layout
}

// leastWindow is the smallest size of windows that is chosen: a day where --time-layout says that
// times are dates.
func (f *inputFlags) leastWindow() time.Duration {
	if event.OnlyDates(string(f.times.Layout)) {
		return 24 * time.Hour
	}
	return choice.Usual[0]
}

// explainFile names the flags in an error of the input.
func (f *inputFlags) explainFile(err error) error {
	var other *eventfile.FormatError
	if errors.As(err, &other) && other.Separator != "" {
		return command.Usage(fmt.Errorf("%w, or give --input-format %s --separator '%s'", err, input.QuotedFormats(),
			other.Separator))
	}
	return input.ExplainColumns(input.ExplainFormat(err), [2]string{"user-field", f.userField}, [2]string{"key-field",
		f.keyField}, [2]string{"time-field", f.timeField})
}
