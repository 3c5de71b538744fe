package pipeline

import (
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// What no run can obey is refused before a broker is asked.
func TestARunRefusesOptionsThatItCannotObey(t *testing.T) {
	t.Parallel()
	for want, opts := range map[string]RunOptions{
		"set either":                            {Bounded: true, UntilEnd: true},
		"the end, or Until, a time":             {UntilEnd: true, Until: time.Unix(1, 0)},
		"Workers.Engine is missing":             {Workers: &Workers{}},
		"StallLimit of -1s: it must not be neg": {StallLimit: -time.Second},
	} {
		if _, err := Run(t.Context(), &deployment.Deployment{}, opts); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	if _, err := Run(t.Context(), nil, RunOptions{}); err == nil || !strings.Contains(err.Error(), "the deployment is nil") {
		t.Errorf("%v does not say that the deployment is missing", err)
	}
}
