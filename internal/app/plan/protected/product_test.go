package protected_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/tollgate-dp/tollgate/internal/app/demo"
	"github.com/tollgate-dp/tollgate/internal/app/plan/advice"
	"github.com/tollgate-dp/tollgate/internal/app/plan/protected"
	"github.com/tollgate-dp/tollgate/internal/app/plan/sample"
	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/shapes"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

const share = 0.05

func settings(s advice.Setting, planned float64) demo.Settings {
	return demo.Settings{Epsilon: 1, Delta: 1e-6, Accountant: "gdp", Window: s.Window, Target: noisereduction.Target{Relative: s.Relative, Confidence: .95},
		MaxKeysPerUser: s.KeysPerUser, MaxEventsPerKey: s.EventsPerKey, LastAtLeast: s.LastAtLeast, Planned: planned}
}

func ask(s *sample.Sample, of shapes.Shape, planned float64) advice.Question {
	return advice.Question{Sample: s, Terms: advice.Terms{Delta: 1e-6, Target: noisereduction.Target{Relative: .1, Confidence: .95}}, Given: advice.Setting{Epsilon: 1, Window: of.Window},
		Compile: func(s advice.Setting) (*pipeline.Deployment, error) { return settings(s, planned).Compile() }}
}

// What a protected choice brings against the defaults, on ten shapes of data: with -v the table.
// Where it suffices it is not worse than the defaults by more than 5 % of the real count. With
// TOLLGATE_PLAN_TABLE set, the table also has what the protection costs: the unprotected choice, on
// which nothing here depends.
func TestProtectedChoicesAreWorthTheirPrice(t *testing.T) {
	long.Test(t)
	all, compared := shapes.All(), os.Getenv("TOLLGATE_PLAN_TABLE") != ""
	if !compared {
		all = all[:4]
	}
	dir := t.TempDir()
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "shape\tusers\tnoisy\tdefaults\tunprotected\t\tprotected\t")
	for _, s := range all {
		t.Run(s.Name, func(t *testing.T) {
			events := s.Events()
			c := sample.NewCollector(sample.Options{Step: s.Window})
			d, err := settings(advice.Setting{Window: s.Window, KeysPerUser: 2, EventsPerKey: 2, LastAtLeast: 24, Relative: .1}, share).Compile()
			if err != nil {
				t.Fatal(err)
			}
			key := noisereduction.NoiseKey{ID: "1", Secret: secret.New(sha256.Sum256([]byte(s.Name)))}
			p, err := protected.New(protected.Options{Window: s.Window, Budget: d.Budget, Key: key,
				From: shapes.Start.UnixMilli(), To: events[len(events)-1].At.UnixMilli() + 1})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close() //nolint:errcheck // of a test
			for _, e := range events {
				c.Add([]byte(e.User), []byte(e.Key), e.At.UnixMilli())
				if err := p.Add([]byte(e.User), []byte(e.Key), e.At.UnixMilli(), 0); err != nil {
					t.Fatal(err)
				}
			}
			real := c.Sample()
			r, err := p.Release()
			if err != nil {
				t.Fatal(err)
			}
			n, deviation := r.Individuals()
			wrong := func(of demo.Settings) float64 {
				if s.Name == "windows" {
					return -1 // 10,000 turns each
				}
				m, err := shapes.Measure(t.Context(), dir, s, events, of, 1)
				if err != nil {
					t.Fatal(err)
				}
				return m.Typical
			}
			best := func(sm *sample.Sample, planned float64) advice.Setting {
				q := ask(sm, s, planned)
				q.Sizes = append(q.Sizes, s.Window)
				a, err := advice.Answer(t.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				return a.Block.Point.Setting
			}
			defaults := wrong(settings(advice.Setting{Window: s.Window, KeysPerUser: 2, EventsPerKey: 2, LastAtLeast: 24, Relative: .1}, 0))
			text := func(s advice.Setting) string {
				return fmt.Sprintf("%d × %d, %d, ± %v", s.KeysPerUser, s.EventsPerKey, s.LastAtLeast, s.Relative)
			}
			unprotected := "\t"
			if compared {
				open := best(real, 0)
				unprotected = fmt.Sprintf("%.2f\t%s", wrong(settings(open, 0)), text(open))
			}
			line := fmt.Sprintf("%s\t%.0f\t%.0f ± %.0f\t%.2f\t%s", s.Name, real.Users, n, 2*deviation, defaults, unprotected)
			if !r.Suffices() {
				fmt.Fprintf(w, "%s\tdoes not suffice\t\n", line)
				return
			}
			made, err := r.Sample()
			if err != nil {
				t.Fatal(err)
			}
			chosen := best(made, share)
			with := wrong(settings(chosen, share))
			fmt.Fprintf(w, "%s\t%.2f\t%s\n", line, with, text(chosen))
			if with > defaults+0.05 {
				t.Errorf("with %s values are typically %.3g from the real count, with the defaults %.3g", text(chosen), with, defaults)
			}
		})
	}
	w.Flush() //nolint:errcheck // a strings.Builder takes everything
	t.Log("\n" + table.String())
}
