package commands

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Commands that can do without a configuration read the usual one as all others do: unless flags
// say what it says.
func TestReplayAndPlanReadTheUsualConfiguration(t *testing.T) {
	csv := write(t, "visits.csv", "user,when\nu,2025-03-01T00:00:00Z\n")
	here, elsewhere := t.TempDir(), write(t, "elsewhere.yaml", "nonsense: 2\n")
	t.Chdir(here)
	for _, tc := range []struct {
		args, flags []string // without a configuration, and flags that take its place
		without     string   // the error where there is no configuration
	}{
		{[]string{"replay", "--input", csv}, []string{"--brokers", "127.0.0.1:1"}, "--topic is needed"},
		{[]string{"plan"}, []string{"--user-field", "user"}, "--input is missing"},
	} {
		try := func(environment map[string]string, more []string, want string) {
			t.Helper()
			if code, _, stderr := runWith(t.Context(), environment, append(slices.Clone(tc.args), more...)...); code == exitOK || !strings.Contains(stderr, want) {
				t.Errorf("%s %s: exit %d, stderr %q; want %q", tc.args, more, code, stderr, want)
			}
		}
		if err := os.RemoveAll(filepath.Join(here, usualConfig)); err != nil {
			t.Fatal(err)
		}
		try(nil, nil, tc.without)
		if err := os.WriteFile(usualConfig, []byte("nonsense: 1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		try(nil, nil, usualConfig+":1:1: there is no field")
		try(map[string]string{"TOLLGATE_CONFIG": elsewhere}, nil, elsewhere+":1:1: there is no field")
		try(nil, []string{"--config", elsewhere}, elsewhere+":1:1: there is no field")
		try(nil, tc.flags, tc.without)
	}
}
