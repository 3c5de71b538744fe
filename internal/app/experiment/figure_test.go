package experiment

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/tollgate-dp/tollgate/internal/testing/runseed"
)

// Every drawing is well-formed XML, has its curves inside the frame, and 2 to 19 ticks on an axis.
func TestFiguresAreDrawnWithinTheirFrame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := Figure{Title: `<script>"&`, X: "x", Y: "y", LogX: rapid.Bool().Draw(t, "log x"), LogY: rapid.Bool().Draw(t,
			"log y")}
		value := func(log bool, name string) float64 {
			if log {
				return math.Pow(10, rapid.Float64Range(-9, 9).Draw(t, name))
			}
			return rapid.Float64Range(-1e9, 1e9).Draw(t, name)
		}
		for i := range rapid.IntRange(1, 11).Draw(t, "curves") {
			s := Series{Name: fmt.Sprintf("curve %d", i)}
			for range rapid.IntRange(1, 5).Draw(t, "points") {
				s.X, s.Y = append(s.X, value(f.LogX, "x")), append(s.Y, value(f.LogY, "y"))
			}
			slices.Sort(s.X)
			f.Series = append(f.Series, s)
		}
		x, y := f.axes()
		for _, a := range []axis{x, y} {
			if n := len(a.ticks()); n < 2 || n > 19 {
				t.Errorf("%d ticks from %v to %v (logarithmic: %v)", n, a.low, a.high, a.log)
			}
		}
		for _, s := range f.Series {
			for i := range s.X {
				if px, py := x.position(s.X[i]), y.position(s.Y[i]); !(px >= plotLeft-1e-6 && px <= plotRight+1e-6 &&
					py >= plotTop-1e-6 && py <= plotBottom+1e-6) {
					t.Errorf("(%v, %v) is drawn at (%v, %v)", s.X[i], s.Y[i], px, py)
				}
			}
		}
		d := xml.NewDecoder(strings.NewReader(f.SVG()))
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				t.Fatalf("not well-formed: %v", err)
			}
			if e, ok := token.(xml.StartElement); ok && e.Name.Local == "script" {
				t.Error("a name became an element")
			}
		}
	})
}
