package cli_test

import (
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
)

func TestAFlagTakesItsWordsOnly(t *testing.T) {
	unit := "ms"
	v := cli.OneOf(&unit, "s", "ms", "us")
	if v.String() != "ms" || v.Type() != "s|ms|us" {
		t.Errorf("default %q, type %q", v.String(), v.Type())
	}
	if err := v.Set("us"); err != nil || unit != "us" {
		t.Errorf("us: %q, %v", unit, err)
	}
	for _, word := range []string{"", "US", "ns"} {
		if err := v.Set(word); err == nil || err.Error() != "it must be s, ms or us" || unit != "us" {
			t.Errorf("%q: %q, %v", word, unit, err)
		}
	}
}
