package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestAParentSuggestsACommand(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"dlq lst":           `unknown command "lst" for "tollgate dlq": is list meant?`,
		"dlq lst --other x": "is list meant?",
		"dlq unlike":        "is list or show meant?",
		"dlq --other x":     "unknown flag: --other",
		"dlq":               "",
	} {
		root := &cobra.Command{Use: "tollgate"}
		do := func(*cobra.Command, []string) error { return nil }
		root.AddCommand(Parent(&cobra.Command{Use: "dlq"}, &cobra.Command{Use: "list", RunE: do},
			&cobra.Command{Use: "show", RunE: do}))
		Prepare(root)
		root.SetArgs(strings.Fields(line))
		root.SetOut(&strings.Builder{})
		if err := root.Execute(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", line, err)
		}
	}
}

func TestAFlagInAGroupStaysRequired(t *testing.T) {
	t.Parallel()
	cmd := &cobra.Command{Use: "tollgate", RunE: func(*cobra.Command, []string) error { return nil }}
	cmd.Flags().String("dir", "", "")
	cmd.MarkFlagRequired("dir") //nolint:errcheck // the flag exists
	Group(cmd.Flags().Lookup("dir"), "Output")
	if err := cmd.ValidateRequiredFlags(); err == nil {
		t.Error("the group has replaced the mark of a required flag")
	}
}
