// Package input implements the flags and notes that are shared by commands that read a file of
// events.
package input

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/demo"
	"github.com/tollgate-dp/tollgate/internal/app/eventfile"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// Readable returns an error if a file cannot be read, before any other work begins. It does not
// open a pipe, which can be read only once, and accepts an empty path.
func Readable(flag, path string) error {
	if path == "" || flag == "input" && path == eventfile.Stdin {
		return nil
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("--%s %s: %w: correct the path", flag, path, fs.ErrNotExist)
	case err != nil:
		return fmt.Errorf("opening --%s: %w", flag, err)
	case info.IsDir():
		return fmt.Errorf("opening --%s: %s is a directory: name one file", flag, path)
	case !info.Mode().IsRegular():
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("opening --%s: %w", flag, err)
	}
	return file.Close()
}

// InputFormatOf returns the given format or, without one, the format that the file's name shows.
func InputFormatOf(name, given string) (e event.Encoding, err error) {
	if given == "" {
		if e = eventfile.EncodingOfFile(name); !e.Known() {
			if err = Readable("input", name); err == nil {
				err = fmt.Errorf("--input-format is needed (%s): the file name does not show the format", AnyFormat())
			}
		}
	} else if e = event.EncodingOf(given); !e.Known() {
		err = fmt.Errorf("--input-format %q: use %s", given, AnyFormat())
	}
	return e, err
}

// CheckEncoding checks that --encoding is valid and fits the format of the file.
func CheckEncoding(encoding string, format event.Encoding) error {
	if encoding != "" && format.Contained() {
		return fmt.Errorf("--encoding is for text: leave it out for %s", format.Name)
	}
	if err := eventfile.CheckCharset(encoding); err != nil {
		return fmt.Errorf("--encoding %w", err)
	}
	return nil
}

// AnyFormat names all formats, RowFormats those with rows, QuotedFormats those with quotes and
// SchemaFormats those with schemas.
func AnyFormat() string               { return event.Listed(event.Encoding.Known, " or ") }
func RowFormats(before string) string { return event.Listed(event.Encoding.Tabular, before) }
func QuotedFormats() string {
	return event.Listed(func(e event.Encoding) bool { return e.Quoted }, " or ")
}
func SchemaFormats() string { return event.Listed(event.Encoding.Schemas, " and ") }

// ExplainFormat adds the right flag to the error for a file whose format is not the one that the
// flag or the file's name says.
func ExplainFormat(err error) error {
	var other *eventfile.FormatError
	if !errors.As(err, &other) || other.Fits == "" {
		return err
	}
	cure := "--input-format " + other.Fits
	if event.EncodingOf(other.Fits).Tabular() && !event.EncodingOf(other.Given).Tabular() {
		cure += " with --header, or --columns a,b,c"
	}
	return command.Usage(fmt.Errorf("%w: give %s", err, cure))
}

// NoteFaults notes what is wrong with the broken records of a file.
func NoteFaults(progress *terminal.Progress, faults []string) {
	for _, text := range faults {
		progress.Note("broken: %s", text)
	}
}

// NoteTimes notes how many events are so old or so new that their times may be wrong.
func NoteTimes(progress *terminal.Progress, faults *eventfile.Faults) {
	if n, where := faults.OddTimes(); n > 0 {
		progress.Note("check the times: %s before 1990 or in the future (%s)", terminal.Count(int(n), "event"), where)
	}
}

// NoteUnnamed notes how many records have no user, or one like NULL, and what became of them.
func NoteUnnamed(progress *terminal.Progress, noUser string, unnamed, blank uint64) {
	if blank > 0 && noUser != demo.SkipNoUser {
		progress.Note("users like NULL: %s; each such word counts as one user: --no-user skip leaves them out",
			terminal.Count(int(blank), "record"))
	}
	if unnamed == 0 {
		return
	}
	became := map[string]string{
		"": "they are broken records: --no-user skip leaves them out, and --no-user each makes every " +
			"such record a user of its own",
		demo.SkipNoUser: "left out",
		event.NoUserEach: "each counts as a separate user, so that a person with several of them is protected for " +
			"each event only",
	}
	progress.Note("without a user: %s; %s", terminal.Count(int(unnamed), "record"), became[noUser])
}

// NoteWithoutValue notes how many records have no value, and what became of them.
func NoteWithoutValue(progress *terminal.Progress, noValue string, n uint64) {
	if n == 0 {
		return
	}
	became := "they are broken records: --no-value skip leaves them out"
	if noValue == event.NoValueSkip {
		became = "left out"
	}
	progress.Note("without a value: %s; %s", terminal.Count(int(n), "record"), became)
}

// ExplainColumns names the flag whose column is missing. flags are pairs of names and values.
func ExplainColumns(err error, flags ...[2]string) error {
	var wrong *eventfile.ColumnError
	if !errors.As(err, &wrong) {
		return err
	}
	for _, flag := range flags {
		if flag[1] == wrong.Column || slices.Contains(strings.Split(flag[1], ","), wrong.Column) {
			return fmt.Errorf("looking for --%s: %w", flag[0], err)
		}
	}
	return err
}

// EncodingFlag adds the flag that names the encoding of a file's text.
func EncodingFlag(flags *pflag.FlagSet, encoding *string) {
	flags.StringVar(encoding, "encoding", "", "encoding of the file's text: latin1, cp1252 or another name that web "+
		"pages use (default: utf-8, or utf-16 if its first bytes show it)")
}

// NoUserFlag adds the flag for the treatment of records without a user.
func NoUserFlag(flags *pflag.FlagSet, noUser *string) {
	flags.Var(cli.OneOf(noUser, demo.SkipNoUser, event.NoUserEach), "no-user", "records whose user field is empty or "+
		"missing: skip leaves them out, and those of users like NULL; each makes every such record a user of its own, "+
		"so that a person with several of them is protected for each event only (default: they are broken records)")
}

// SeveralFields returns the fields that --key-field or --time-field names.
func SeveralFields(text string) (first string, more []string) {
	all, err := csv.NewReader(strings.NewReader(text)).Read()
	if err != nil || len(all) == 0 {
		return text, nil
	}
	return all[0], all[1:]
}

// TimeFlagNames names the flags that determine how times are read.
const TimeFlagNames = "--time-field, --time-unit or --time-layout"
