package demo

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/commands/input"
	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/internal/app/demo"
	"github.com/tollgate-dp/tollgate/internal/app/eventfile"
	"github.com/tollgate-dp/tollgate/internal/app/outcomes"
	"github.com/tollgate-dp/tollgate/internal/app/plan/choice"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/event"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// inputFlags describe a file, and what to compute from it.
type inputFlags struct {
	input                          string
	inputFormat                    string
	separator, encoding            string
	header                         bool
	columns                        []string
	userField, keyField, timeField string
	times                          input.TimeFlags
	skipBadTimes, skipUndecodable  bool
	badValues                      uint64 // number of records whose value cannot be read
	from, to                       command.TimeValue
	input.ValueFlags
	buckets int // value of --buckets, which unlike Settings.Buckets has a default
	demo.Settings
}

func (f *inputFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.input, "input", "", "")
	flags.StringVar(&f.inputFormat, "input-format", "", "")
	flags.StringVar(&f.separator, "separator", "", "")
	input.EncodingFlag(flags, &f.encoding)
	flags.BoolVar(&f.header, "header", false, "")
	flags.StringSliceVar(&f.columns, "columns", nil, "")
	flags.StringVar(&f.userField, "user-field", "", "")
	input.NoUserFlag(flags, &f.NoUser)
	flags.StringVar(&f.keyField, "key-field", "", "")
	flags.StringVar(&f.timeField, "time-field", "", "")
	f.times.Register(flags)
	flags.BoolVar(&f.skipBadTimes, "skip-bad-times", false, "")
	flags.BoolVar(&f.skipUndecodable, "skip-undecodable", false, "")
	flags.Var(&f.from, "from", "")
	flags.Var(&f.to, "to", "")
	f.Kind = metrickind.Offered()[0].Name
	flags.Var(cli.OneOf(&f.Kind, metrickind.Names(metrickind.Offered())...), "kind", "")
	f.RegisterValues(flags)
	flags.Int64Var(&f.Min, "min", 0, "")
	flags.Int64Var(&f.Max, "max", 0, "")
	flags.Float64SliceVar(&f.Ranks, "ranks", nil, "")
	flags.Float64SliceVar(&f.Edges, "edges", nil, "")
	flags.Lookup("ranks").DefValue, flags.Lookup("edges").DefValue = "", "" // not [] in the help
	flags.IntVar(&f.buckets, "buckets", 10, "")
	flags.Var(cli.OneOf(&f.Scale, deployment.ScaleLinear, deployment.ScaleLogarithmic), "scale", "")
	flags.StringSliceVar(&f.Also, "also", nil, "")
}

// checkInput checks the flags that describe the file, and determines its format.
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
	var missing []string
	if f.userField == "" {
		missing = append(missing, "--user-field, the column or path with the user's id")
	}
	if f.timeField == "" {
		missing = append(missing, "--time-field, the column or path with the time of the event")
	}
	if format.Tabular() && !f.header && len(f.columns) == 0 {
		missing = append(missing, "--header, if the first record names the columns, or --columns a,b,c")
	}
	switch {
	case missing != nil:
		return fmt.Errorf("give %s", strings.Join(missing, "; "))
	case !format.Tabular() && (f.header || len(f.columns) > 0):
		return fmt.Errorf("--header and --columns are for %s: other formats name their fields",
			input.RowFormats(" and "))
	case f.header && len(f.columns) > 0:
		return errors.New("give either --header, if the first record names the columns, or --columns a,b,c")
	}
	if len(f.columns) > 0 {
		if err := eventfile.CheckColumns(f.columns, f.layout().Fields()...); err != nil {
			return fmt.Errorf("--columns: %w", err)
		}
	}
	return nil
}

// layout returns the format of the file's records as far as the flags describe it.
func (f *inputFlags) layout() event.Format {
	layout := event.Format{
		Separator: f.separator, Charset: f.encoding,
		Format: f.inputFormat, Columns: f.columns, User: f.userField, MaxRecordBytes: demo.MaxRecordBytes,
	}
	layout.Key, layout.MoreKeys = input.SeveralFields(f.keyField)
	layout.Time, layout.MoreTimes = input.SeveralFields(f.timeField)
	f.times.Of(&layout)
	f.ValueFlags.Of(&layout)
	if f.NoUser == event.NoUserEach {
		layout.NoUser = f.NoUser
	}
	return layout
}

// leastWindow returns the smallest window that demo may choose: a day if times may be dates without
// a time of day.
func (f *inputFlags) leastWindow() time.Duration {
	layout := f.times.Layout
	if layout == "" && f.times.Unit == event.TimeText || event.OnlyDates(layout) {
		return 24 * time.Hour
	}
	return choice.Usual[0]
}

// explainFile adds the flags to change to an error about the file's format.
func (f *inputFlags) explainFile(err error) error {
	var other *eventfile.FormatError
	if errors.As(err, &other) && other.Separator != "" {
		format := ""
		if !event.EncodingOf(f.inputFormat).Quoted {
			format = " --input-format " + input.QuotedFormats()
		}
		return command.Usage(fmt.Errorf("%w: give%s --separator '%s'", err, format, other.Separator))
	}
	return input.ExplainColumns(input.ExplainFormat(err), [2]string{"user-field", f.userField}, [2]string{"key-field",
		f.keyField}, [2]string{"time-field", f.timeField})
}

// refuseUnreadable returns an error for a file without events, or with records that may be misread.
// It decides by the records, before anything is promised, as for a file without records.
func (j *job) refuseUnreadable(file *demo.File) error {
	f := j.flags
	faults, records := file.Faults(), uint64(file.Records())
	if err := errors.Join(f.refuseCharset(faults, records), f.refuseValues(faults, records)); err != nil {
		return err
	}
	if err := f.refuseTimes(faults, records); err != nil {
		return err
	}
	if !file.NoEvents() {
		if err := f.refuseUndecodable(faults, records); err != nil {
			return err
		}
		if file.BeforeTime() && f.from.IsZero() {
			return fmt.Errorf("nothing to release: every event of %s is before 1970, and such events do not count: "+
				"correct %s", eventfile.Name(f.input), input.TimeFlagNames)
		}
		return nil
	}
	j.noteFaults(file)
	cure := "--user-field, --key-field, --input-format, " + input.TimeFlagNames
	if field := faults.Most().Field; field == "time" {
		cure = input.TimeFlagNames + ", such as --time-layout %d/%m/%Y"
	} else if field != "" {
		cure = "--" + field + "-field"
	}
	return fmt.Errorf("nothing to release: no record of %s has a user, a key and a time that can be used: correct %s",
		eventfile.Name(f.input), cure)
}

// noteFaults reports the records that are broken or incomplete, and whether they count.
func (j *job) noteFaults(file *demo.File) {
	input.NoteFaults(j.progress, file.Faults().Texts())
	if j.flags.from.IsZero() && j.flags.to.IsZero() {
		input.NoteTimes(j.progress, file.Faults())
	}
	input.NoteUnnamed(j.progress, j.flags.NoUser, file.Unnamed(), file.Faults().Blank())
	input.NoteWithoutValue(j.progress, j.flags.NoValue, file.Faults().WithoutValue())
}

// refuseValues returns an error if too many records of a file have a value that cannot be read: the
// other records would not be representative.
func (f *demoFlags) refuseValues(faults *eventfile.Faults, records uint64) error {
	n, where, tooMany := faults.BadValues()
	f.badValues = n
	if !tooMany || f.SkipBadValues {
		return nil
	}
	number, cure := "a whole number", "Correct --value-field or the file"
	if f.Decimals > 0 {
		number = "a number"
	}
	switch comma := faults.DecimalCommas(); {
	case comma && f.Decimals > 0:
		cure = "They have a decimal comma: give --decimal-comma"
	case comma:
		cure = "They have a decimal comma: give --decimal-comma, --decimals 2 for two decimals, and --min and --max " +
			"in hundredths"
	case f.Decimals == 0:
		cure = "If they have decimals, give --decimals 2 for two of them, and --min and --max in hundredths"
	}
	return f.refused(n, records, "have a value that is not "+number+": "+where, cure+"; to leave such records out, "+
		"add --skip-bad-values")
}

// refused returns the error for a file with n records that may be misread, or whose loss would
// leave a sample that is not representative.
func (f *inputFlags) refused(n, records uint64, what, cure string) error {
	return fmt.Errorf("reading input file %s: %s %s. %s", eventfile.Name(f.input), outcomes.Part(n, records, "record"),
		what, cure)
}

// refuseCharset returns an error if more than one in a hundred records of a file are not UTF-8:
// they may be all the records of a key.
func (f *inputFlags) refuseCharset(faults *eventfile.Faults, records uint64) error {
	bad, where := faults.NotUTF8()
	if 100*bad <= records {
		return nil
	}
	return f.refused(bad, records, "are not text in UTF-8: "+where, "Give its encoding, for example --encoding cp1252")
}

// refuseUndecodable returns an error if more than 2% of a file's records cannot be decoded: the
// others would not be representative.
func (f *inputFlags) refuseUndecodable(faults *eventfile.Faults, records uint64) error {
	bad, where := faults.Undecodable()
	if f.skipUndecodable || 50*bad <= records || bad == records {
		return nil
	}
	return f.refused(bad, records, "cannot be read as "+f.inputFormat+": "+where, "Correct the file, or leave such "+
		"records out with --skip-undecodable")
}

// refuseTimes returns an error if more than a tenth of a file's records have a time that cannot be
// read: the others may then be misread, for example with day and month swapped. If another unit
// fits most of these times, more than one in a hundred is enough, and times before 1990 or ahead of
// now count too.
func (f *inputFlags) refuseTimes(faults *eventfile.Faults, records uint64) error {
	n, where := faults.BadTimes()
	times, most := faults.Times(), uint64(10)
	unit := times.Reading()
	what, cure, skip := "that cannot be read", "correct "+input.TimeFlagNames+", or write these times like "+
		"2025-03-03T00:00:01Z", "leave them out"
	if unit != nil {
		odd, oddWhere := faults.OddTimes()
		switch {
		case odd == 0:
		case n == 0:
			what, where, skip = "before 1990 or ahead of now", oddWhere, "continue anyway"
		default:
			what, where, skip = what+", or is before 1990 or ahead of now", where+"; "+oddWhere, "continue anyway"
		}
		n, most, cure = n+odd, 100, fmt.Sprintf("give --time-unit %v", unit)
	} else if times.Events == 0 {
		return nil // another check explains why there are no events
	}
	if f.skipBadTimes && times.Events > 0 || most*n <= records {
		return nil
	}
	cure = "To read them, " + cure
	if unit != nil && !unit.Text() && 100*times.Usual() > records {
		cure = fmt.Sprintf("The file mixes units: these times need --time-unit %v, and the others do not. Write all "+
			"times in one unit", unit)
	}
	return f.refused(n, records, "have a time "+what+": "+where, cure+"; to "+skip+", add --skip-bad-times")
}

const maxKeyFile = 64 << 20

// readPublicKeys reads the value of --public-keys: if there is a file with that name, its lines;
// otherwise a list with commas. Duplicate keys count once.
func readPublicKeys(value string) ([]string, error) {
	keys := strings.Split(value, ",")
	where := "--public-keys"
	inFile := false
	if len(keys) == 1 {
		_, err := os.Stat(value)
		isPath := strings.ContainsAny(value, `/\`) || strings.HasSuffix(value, ".txt")
		if err == nil || isPath {
			text, err := config.ReadSmall(value, maxKeyFile)
			if err != nil {
				return nil, fmt.Errorf("reading --public-keys: %w. If %s is a key, not a file, write it into a file "+
					"with one key per line", err, value)
			}
			keys, inFile = config.Lines(text), true
			where = "reading --public-keys " + value
		}
	}
	var out []string
	for i, key := range keys {
		if key == "" && inFile {
			continue
		}
		if err := checkKey(key); err != nil {
			err = fmt.Errorf("%s: key %d: %w", where, i+1, err)
			if inFile {
				return nil, command.Contents(err)
			}
			return nil, command.Usage(err)
		}
		out = append(out, key)
	}
	if len(out) == 0 {
		return nil, command.Contents(fmt.Errorf("%s: it contains no key", where))
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

func checkKey(key string) error {
	if key == "" {
		return errors.New("it is empty: is there one comma too many?")
	}
	return schemas.ValidateKey([]byte(key))
}
