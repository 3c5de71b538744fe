package cli

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tollgate-dp/tollgate/internal/base/formats/spelling"
)

// Format is the value of --format.
type Format string

const (
	Table Format = "table" // for people
	JSON  Format = "json"  // for programs
)

// FormatFlag adds --format to a command.
func FormatFlag(cmd *cobra.Command, f *Format) {
	*f = Table
	cmd.Flags().Var(OneOf(f, Table, JSON), "format", "table for people, json for programs")
}

// Parsed returns a flag value of a kind: parse stores a given text, and text returns what is
// stored.
func Parsed(kind string, text func() string, parse func(string) error) pflag.Value {
	return &parsed{kind, text, parse}
}

type parsed struct {
	kind  string
	text  func() string
	parse func(string) error
}

// Type implements pflag.Value.
func (v *parsed) Type() string { return v.kind }

// String implements pflag.Value.
func (v *parsed) String() string { return v.text() }

// Set implements pflag.Value.
func (v *parsed) Set(text string) error { return v.parse(text) }

// OneOf returns a flag value that accepts one of several words. The default is *value.
func OneOf[T ~string](value *T, words ...T) pflag.Value {
	var names []string
	for _, word := range words {
		names = append(names, string(word))
	}
	return Parsed(strings.Join(names, "|"), func() string { return string(*value) }, func(text string) error {
		if !slices.Contains(names, text) {
			return errors.New("it must be " + spelling.List(names, " or "))
		}
		*value = T(text)
		return nil
	})
}
