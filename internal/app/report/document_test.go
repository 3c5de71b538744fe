package report

import (
	"html/template"
	"strings"
	"testing"
)

// documentOf is a document whose every text is the given one.
func documentOf(t *testing.T, text string) string {
	t.Helper()
	var b strings.Builder
	d := Document{
		Title: text, Source: text, Notes: []string{text}, Command: text, Footer: text,
		Tables: []DocumentTable{{Title: text, Columns: []string{text, "measured"}, Rows: [][]string{{text, "14.44"},
			{text, "–"}}, Note: text}},
		Figures: []template.HTML{`<svg class="fig"></svg>`}, FigureStyle: ".fig{fill:none}",
	}
	if err := d.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestADocumentIsSelfContained(t *testing.T) {
	for _, text := range append(hostileTexts, "A sample") {
		html := documentOf(t, text)
		lower := strings.ToLower(html)
		for part, want := range map[string]int{"<script": 1, "</script": 1, "<img": 0, "<svg": 1, "<!--": 0, "src=": 0,
			"<link": 1, "14.44<": 1, "–</td>": 1} {
			if part == "src=" && strings.Contains(text, "src=") {
				continue // as text
			}
			if got := strings.Count(lower, part); got != want {
				t.Errorf("%q: %q stands %d times in the page, want %d", text, part, got, want)
			}
		}
	}
}
