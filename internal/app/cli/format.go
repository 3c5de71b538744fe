package cli

import (
	"errors"

	"github.com/spf13/cobra"
)

// Format is the value of --format.
type Format string

const (
	// Table is for people.
	Table Format = "table"
	// JSON is for programs.
	JSON Format = "json"
)

// FormatFlag adds --format to a command.
func FormatFlag(cmd *cobra.Command, f *Format) {
	*f = Table
	cmd.Flags().Var(f, "format", "table for people, json for programs")
}

// String returns the format, as --format takes it.
func (f *Format) String() string { return string(*f) }

// Type lists what --format takes.
func (f *Format) Type() string { return "table|json" }

// Set parses table and json. Errors: anything else.
func (f *Format) Set(text string) error {
	switch v := Format(text); v {
	case Table, JSON:
		*f = v
		return nil
	}
	return errors.New("it must be table or json")
}
