package csvrow

import (
	"strings"
	"testing"
)

// Every text of up to six bytes with a meaning ends a field in the same way, however long the field
// was before.
func TestLongFieldsAreReadAsShortOnes(t *testing.T) {
	var text []byte
	var extend func()
	extend = func() {
		for _, quote := range []string{"", `"`} {
			field, rest, escaped, e := Next([]byte(quote+"x"+string(text)), ',')
			longField, longRest, longEscaped, longE := Next(
				[]byte(quote+strings.Repeat("x", 2*shortField)+string(text)), ',')
			want := string(field)
			if field != nil {
				want = strings.Repeat("x", 2*shortField-1) + want
			}
			if string(longField) != want || string(longRest) != string(rest) || longEscaped != escaped || longE != e {
				t.Fatalf("%q: %q, %q, %v, %d after a long field; %q, %q, %v, %d after a short one",
					text, longField, longRest, longEscaped, longE, field, rest, escaped, e)
			}
		}
		if len(text) == 6 {
			return
		}
		for _, c := range []byte("a,\"\n\r") {
			text = append(text, c)
			extend()
			text = text[:len(text)-1]
		}
	}
	extend()
}

// A row over several lines ends where its last line ends.
func TestLinesOfARowAreFollowed(t *testing.T) {
	for _, c := range []struct {
		lines []string
		want  Ending
	}{
		{[]string{`a,"b`, `c`, `""",d`}, End},
		{[]string{`"`, `"`}, End},
		{[]string{`a,"b`, `c"d`}, Malformed},
		{[]string{`a,"b`, `c",d"`}, Malformed},
		{[]string{`"a`, `b","`}, Open},
	} {
		e := Scan([]byte(c.lines[0]), ',', false)
		for _, line := range c.lines[1:] {
			if e != Open {
				t.Fatalf("%q: ended early with %d", c.lines, e)
			}
			e = Scan([]byte(line), ',', true)
		}
		if e != c.want {
			t.Errorf("%q: %d, want %d", c.lines, e, c.want)
		}
	}
}
