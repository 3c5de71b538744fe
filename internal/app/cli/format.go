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

// OneOf returns a flag value that accepts one of several words. The default is *value.
func OneOf[T ~string](value *T, words ...T) pflag.Value { return oneOf[T]{value, words} }

type oneOf[T ~string] struct {
	value *T
	words []T
}

// String implements pflag.Value.
func (v oneOf[T]) String() string { return string(*v.value) }

// Type implements pflag.Value.
func (v oneOf[T]) Type() string { return strings.Join(v.names(), "|") }

// Set implements pflag.Value.
func (v oneOf[T]) Set(text string) error {
	if !slices.Contains(v.words, T(text)) {
		return errors.New("it must be " + spelling.List(v.names(), " or "))
	}
	*v.value = T(text)
	return nil
}

func (v oneOf[T]) names() (all []string) {
	for _, word := range v.words {
		all = append(all, string(word))
	}
	return all
}
