package commands

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/app/demo"
	"github.com/tollgate-dp/tollgate/internal/app/eventfile"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// readable refuses a file that cannot be read, before any other work begins. A pipe is not
// opened: it could be read only once.
func readable(flag, path string) error {
	if flag == "input" && path == eventfile.Stdin {
		return nil
	}
	info, err := os.Stat(path)
	switch {
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

// readableAll calls readable for every flag that is not empty: pairs of names and paths.
func readableAll(files ...[2]string) error {
	for _, f := range files {
		if f[1] == "" {
			continue
		}
		if err := readable(f[0], f[1]); err != nil {
			return err
		}
	}
	return nil
}

// inputFormatOf returns the format that was given, else the format of the file's name.
func inputFormatOf(name, given string) (e event.Encoding, err error) {
	if given == "" {
		if e = eventfile.EncodingOfFile(name); !e.Known() {
			err = fmt.Errorf("--input-format is needed (%s): the file name does not show the format", anyFormat())
		}
	} else if e = event.EncodingOf(given); !e.Known() {
		err = fmt.Errorf("--input-format %q: use %s", given, anyFormat())
	}
	return e, err
}

// checkEncoding checks --encoding for a file of a format.
func checkEncoding(encoding string, format event.Encoding) error {
	if encoding != "" && format.Contained() {
		return fmt.Errorf("--encoding is for text: leave it out for %s", format.Name)
	}
	if err := eventfile.CheckCharset(encoding); err != nil {
		return fmt.Errorf("--encoding %w", err)
	}
	return nil
}

// quotedFormats and schemaFormats name formats in texts.
func anyFormat() string               { return event.Listed(event.Encoding.Known, " or ") }
func rowFormats(before string) string { return event.Listed(event.Encoding.Tabular, before) }
func quotedFormats() string {
	return event.Listed(func(e event.Encoding) bool { return e.Quoted }, " or ")
}
func schemaFormats() string { return event.Listed(event.Encoding.Schemas, " and ") }

// explainFormat adds the flag that fits to the error of a file that is of another format than
// was chosen, by the flag or by the file's name.
func explainFormat(err error) error {
	var other *eventfile.FormatError
	if !errors.As(err, &other) || other.Fits == "" {
		return err
	}
	cure := "--input-format " + other.Fits
	if event.EncodingOf(other.Fits).Tabular() && !event.EncodingOf(other.Given).Tabular() {
		cure += " with --header, or --columns a,b,c"
	}
	return usage(fmt.Errorf("%w: give %s", err, cure))
}

// noteFaults says what is wrong with the broken records of a file.
func noteFaults(progress *terminal.Progress, faults []string) {
	for _, text := range faults {
		progress.Note("broken: %s", text)
	}
}

// noteUnnamed says how many records have no user, or one like NULL, and what became of them.
func noteUnnamed(progress *terminal.Progress, noUser string, unnamed, blank uint64) {
	if blank > 0 && noUser != demo.SkipNoUser {
		progress.Note("users like NULL: %s; each such word is one user: --no-user skip leaves them out", terminal.Count(int(blank), "record"))
	}
	if unnamed == 0 {
		return
	}
	became := map[string]string{
		"":               "they are broken records: --no-user skip leaves them out, and --no-user each makes every such record a user of its own",
		demo.SkipNoUser:  "left out",
		event.NoUserEach: "each counts as a user of its own, so that a person with several of them is protected for each event only",
	}
	progress.Note("without a user: %s; %s", terminal.Count(int(unnamed), "record"), became[noUser])
}

// noteWithoutValue says how many records have no value, and what became of them.
func noteWithoutValue(progress *terminal.Progress, noValue string, n uint64) {
	if n == 0 {
		return
	}
	became := "they are broken records: --no-value skip leaves them out"
	if noValue == event.NoValueSkip {
		became = "left out"
	}
	progress.Note("without a value: %s; %s", terminal.Count(int(n), "record"), became)
}

// noUsers refuses a file in which no record has a user, although records without one need not be
// broken: with a misspelt field, each would be a user of its own.
func (f *inputFlags) noUsers() error {
	return fmt.Errorf("reading input file %s: no record has a user in %s: correct --user-field", eventfile.Name(f.input), f.userField)
}

// explainFile names the flags in an error of the input.
func (f *inputFlags) explainFile(err error) error {
	var other *eventfile.FormatError
	if errors.As(err, &other) && other.Separator != "" {
		return usage(fmt.Errorf("%w, or give --input-format %s --separator '%s'", err, quotedFormats(), other.Separator))
	}
	return explainColumns(explainFormat(err), [2]string{"user-field", f.userField}, [2]string{"key-field", f.keyField}, [2]string{"time-field", f.timeField})
}

// explainColumns names the flag whose column is not there; flags are pairs of names and values.
func explainColumns(err error, flags ...[2]string) error {
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
