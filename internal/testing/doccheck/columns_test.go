package doccheck

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// maxColumns limits a line of Go, with four columns for a tab.
const maxColumns = 120

func TestNoLineOfGoIsTooWide(t *testing.T) {
	for _, s := range sources(t) {
		for n, line := range strings.Split(s.text, "\n") {
			if columns := utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    ")); columns > maxColumns {
				t.Errorf("%s:%d: %d columns: break the line at %d", s.path, n+1, columns, maxColumns)
			}
		}
	}
}
