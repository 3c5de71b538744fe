package commands

import (
	"encoding/csv"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
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
	times                          timeFlags
	skipBadTimes, skipUndecodable  bool
	badValues                      uint64 // records whose value cannot be read
	from, to                       timeValue
	kindFlags
}

func (f *inputFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.input, "input", "", "file with your own events, also one that is compressed with gzip or zstd; - reads the standard input")
	flags.StringVar(&f.inputFormat, "input-format", "", anyFormat()+" (default: by the name of the file)")
	flags.StringVar(&f.separator, "separator", "", "character between the fields of "+quotedFormats()+" rows, if it is not a comma: ';'")
	encodingFlag(flags, &f.encoding)
	flags.BoolVar(&f.header, "header", false, "the first record of a "+rowFormats(" or ")+" file names the columns")
	flags.StringSliceVar(&f.columns, "columns", nil, "names of the columns if the file has no header: a,b,c")
	flags.StringVar(&f.userField, "user-field", "", "column with the user's id, or path of a field: user.id")
	noUserFlag(flags, &f.noUser)
	flags.StringVar(&f.keyField, "key-field", "", "column or path of the key, or up to four with commas between them: country,page; without it all events are counted together")
	flags.StringVar(&f.timeField, "time-field", "", timeFieldUsage)
	f.times.days = true
	f.times.register(flags)
	flags.BoolVar(&f.skipBadTimes, "skip-bad-times", false, "accept a file with many times that cannot be read, or seem wrong; records whose time cannot be read are left out")
	flags.BoolVar(&f.skipUndecodable, "skip-undecodable", false, "leave out rows, lines or records that cannot be read, even if these are more than 2 % of all")
	flags.Var(&f.from, "from", "start of the first window, RFC 3339 or 2006-01-02 in --time-zone; without it a single early record can add windows")
	flags.Var(&f.to, "to", "end of the last window; without it a single late record can add windows")
}

// timeFieldUsage describes --time-field.
const timeFieldUsage = "column or path of the time of the event, or up to four with commas between them, whose texts are read as one: date,time"

// encodingFlag adds the flag that names the encoding of a file's text.
func encodingFlag(flags *pflag.FlagSet, encoding *string) {
	flags.StringVar(encoding, "encoding", "", "encoding of the file's text: latin1, cp1252 or another name that web pages use (default: utf-8, or utf-16 if its first bytes show it)")
}

// noUserFlag adds the flag that says what happens to records without a user.
func noUserFlag(flags *pflag.FlagSet, noUser *string) {
	flags.Var(cli.OneOf(noUser, demo.SkipNoUser, event.NoUserEach), "no-user", "records whose user field is empty or missing: skip leaves them out, and those of users like NULL; each makes every such record a user of its own, so that a person with several of them is protected for each event only (default: they are broken records)")
}

// checkInput decides the layout of the file.
func (f *inputFlags) checkInput(changed func(string) bool) error {
	format, err := inputFormatOf(f.input, f.inputFormat)
	if err != nil {
		return err
	}
	f.inputFormat = format.Name
	if err := checkEncoding(f.encoding, format); err != nil {
		return err
	}
	if f.separator != "" && !format.Quoted {
		return fmt.Errorf("--separator is for %s", quotedFormats())
	}
	if err := f.times.check(format, changed); err != nil {
		return err
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
	layout.Key, layout.MoreKeys = severalFields(f.keyField)
	layout.Time, layout.MoreTimes = severalFields(f.timeField)
	f.times.of(&layout)
	f.valueFlags.of(&layout)
	if f.noUser == event.NoUserEach {
		layout.NoUser = f.noUser
	}
	return layout
}

// leastWindow is the smallest size of windows that is chosen: a day where --time-layout says that
// times are dates.
func (f *inputFlags) leastWindow() time.Duration {
	if event.OnlyDates(string(f.times.layout)) {
		return 24 * time.Hour
	}
	return choice.Usual[0]
}

// severalFields returns the fields that --key-field or --time-field names.
func severalFields(text string) (first string, more []string) {
	all, err := csv.NewReader(strings.NewReader(text)).Read()
	if err != nil || len(all) == 0 {
		return text, nil
	}
	return all[0], all[1:]
}

// timeFlags say how times are written.
type timeFlags struct {
	unit   string
	layout timeLayout
	zone   timeZone
	days   bool // the zone is also that in which days begin
}

func (f *timeFlags) register(flags *pflag.FlagSet) {
	f.unit = event.TimeText
	flags.Var(cli.OneOf(&f.unit, event.TimeUnits()...), "time-unit", "`unit` of times: seconds (s), ms, us, ns, minutes (min), hours (h) or days (d) since 1970, Excel's days (excel), Windows' filetime, rfc3339, or text in a usual layout like 2025-03-03 00:00:01, 2025-03-03, 03 Mar 2025 00:00:01 +0100, 03/Mar/2025:00:00:01 +0100 (default for "+schemaFormats()+": as the schema says)")
	flags.Var(&f.layout, "time-layout", "another layout of times, as strptime has it: %d.%m.%Y %H:%M:%S, or %m/%d/%Y %I:%M %p, or %Y for years")
	begins := ""
	if f.days {
		begins = "of days, and "
	}
	flags.Var(&f.zone, "time-zone", "time zone "+begins+"of times that have none, like Europe/Zurich (default UTC)")
}

// check sets what follows from the format of the file.
func (f *timeFlags) check(format event.Encoding, changed func(string) bool) error {
	texts := f.layout != "" || f.zone != "" && !f.days
	switch {
	case texts && changed("time-unit") && f.unit != event.TimeText && f.days:
		return fmt.Errorf("--time-layout is for texts: leave out --time-unit %s", f.unit)
	case texts && changed("time-unit") && f.unit != event.TimeText:
		return fmt.Errorf("--time-layout and --time-zone are for texts: leave out --time-unit %s", f.unit)
	case format.Schemas() && !changed("time-unit") && !texts:
		f.unit = "" // that of the logical type
	}
	return nil
}

func (f *timeFlags) of(layout *event.Format) {
	layout.TimeUnit, layout.TimeLayout = f.unit, string(f.layout)
	if f.unit == event.TimeText {
		layout.TimeZone = string(f.zone)
	}
	if f.days {
		layout.WallZone = string(f.zone)
	}
}
