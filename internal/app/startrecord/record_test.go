package startrecord

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

func example(n byte) deployment.Beginning {
	return deployment.Beginning{Cluster: "c", Deployment: "shop", Control: "shop-control", Incarnation: [16]byte{n},
		At: time.Unix(1_740_787_200, 0).UTC()}
}

func linesOf(t testing.TB, begun ...deployment.Beginning) string {
	t.Helper()
	var text strings.Builder
	for _, b := range begun {
		line, err := Line(b, true, true)
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString(line + "\n")
	}
	return text.String()
}

// No text makes Parse panic, and a parsed record can be written and parsed again.
func FuzzParse(f *testing.F) {
	f.Add("")
	f.Add(linesOf(f, example(1), example(2)))
	f.Add(strings.TrimSuffix(linesOf(f, example(1)), "\n"))
	f.Add(`{"cluster":"c","incarnation":"00"}`)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Parse("here", []byte(text))
		if err != nil {
			return
		}
		again, err := Parse("here", []byte(linesOf(t, r.Begun...)))
		same := func(a, b deployment.Beginning) bool {
			return a.Incarnation == b.Incarnation && a.Cluster == b.Cluster && a.Control == b.Control
		}
		if err != nil || !slices.EqualFunc(r.Begun, again.Begun, same) {
			t.Errorf("%+v became %+v (%v)", r.Begun, again.Begun, err)
		}
	})
}

// A record that was truncated within a line is refused: it could hide a deployment.
func TestACutRecordIsRefused(t *testing.T) {
	text := linesOf(t, example(1), example(2))
	for n := range len(text) {
		r, err := Parse("here", []byte(text[:n]))
		whole := n == 0 || text[n-1] == '\n' || text[n] == '\n' // an environment variable has no final newline
		if whole && (err != nil || len(r.Begun) != strings.Count(text[:n], "}")) || !whole && err == nil {
			t.Errorf("cut after %d bytes: %+v (%v)", n, r, err)
		}
	}
}
