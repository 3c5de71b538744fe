package experiment

import (
	"bufio"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tollgate-dp/tollgate/internal/app/words"
)

// unknown is the text for an unknown value.
const unknown = "–"

// Format formats a cell of the column.
func (c Column) Format(cell any) string {
	switch v := cell.(type) {
	case string:
		return v
	case int:
		return strconv.Itoa(v)
	case float64:
		return strconv.FormatFloat(v, 'f', c.Digits, 64)
	}
	return unknown
}

// WriteText writes a result as text for people: tables and notes, and only the names of figures.
// WritePage draws the figures.
func (e *Experiment) WriteText(w io.Writer, o Options, r *Result) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "%s\n%s; seed %d, size %s\n", e.Title, e.Source, o.Seed, o.Size)
	for _, t := range r.Tables {
		t.write(b)
	}
	for _, f := range r.Figures {
		var names []string
		for _, s := range f.Series {
			names = append(names, s.Name)
		}
		fmt.Fprintln(b)
		wrap(b, "", "figure: "+f.Title+" ("+strings.Join(names, "; ")+")")
	}
	if len(r.Notes) > 0 {
		fmt.Fprintln(b)
	}
	for _, note := range r.Notes {
		wrap(b, "", note)
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("writing output: %w", err)
	}
	return nil
}

// pageHead is the beginning of every page.
const pageHead = "<!DOCTYPE html>\n<html lang=\"en\" data-page=\"experiment\">\n"

// PageKind implements outfile.Kind for pages.
type PageKind struct{}

func (PageKind) String() string         { return "a page of an experiment" }
func (PageKind) Wrote(head []byte) bool { return strings.HasPrefix(string(head), pageHead) }

// WritePage writes a self-contained page with the figures, the text of WriteText, and the command
// that repeats the experiment.
func (e *Experiment) WritePage(w io.Writer, o Options, r *Result) error {
	var text, figures strings.Builder
	for _, f := range r.Figures {
		figures.WriteString(f.SVG() + "\n")
	}
	if err := e.WriteText(&text, o, r); err != nil {
		return err
	}
	fmt.Fprintf(&text, "\ngo run ./cmd/experiments %s --seed %d --size %s\n", e.Name, o.Seed, o.Size)
	_, err := fmt.Fprintf(w, `%s<head><meta charset="utf-8"><title>%s</title><style>svg{max-width:60rem}</style></head>
<body>
%s<pre>%s</pre>
</body>
</html>
`, pageHead, html.EscapeString(e.Title), &figures, html.EscapeString(text.String()))
	if err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

func (t Table) write(b *bufio.Writer) {
	width := make([]int, len(t.Columns))
	right := make([]bool, len(t.Columns)) // columns of numbers
	var head []string
	for j, c := range t.Columns {
		head = append(head, c.Name)
		width[j] = utf8.RuneCountInString(c.Name)
	}
	lines := [][]string{head}
	for _, row := range t.Rows {
		var line []string
		for j, cell := range row {
			text := t.Columns[j].Format(cell)
			if _, isText := cell.(string); !isText && cell != nil {
				right[j] = true
			}
			width[j] = max(width[j], utf8.RuneCountInString(text))
			line = append(line, text)
		}
		lines = append(lines, line)
	}
	fmt.Fprintln(b)
	wrap(b, "", t.Title)
	fmt.Fprintln(b)
	for _, line := range lines {
		var out strings.Builder
		for j, text := range line {
			fill := strings.Repeat(" ", width[j]-utf8.RuneCountInString(text))
			if right[j] {
				text, fill = fill, text
			}
			out.WriteString("  " + text + fill)
		}
		fmt.Fprintln(b, strings.TrimRight(out.String(), " "))
	}
	wrap(b, "  ", t.Note)
}

// wrap writes a text in lines of 78 columns.
func wrap(b *bufio.Writer, indent, text string) {
	for _, line := range words.Wrap(text, 78-len(indent)) {
		fmt.Fprintln(b, indent+line)
	}
}

// WriteJSON writes a result for programs, as one JSON object.
func (e *Experiment) WriteJSON(w io.Writer, o Options, r *Result) error {
	text, err := json.Marshal(struct {
		Name   string `json:"name"`
		Title  string `json:"title"`
		Source string `json:"source"`
		Seed   uint64 `json:"seed"`
		Size   Size   `json:"size"`
		*Result
	}{e.Name, e.Title, e.Source, o.Seed, o.Size, r})
	if err != nil {
		return fmt.Errorf("encoding experiment %s: %w", e.Name, err)
	}
	if _, err := fmt.Fprintf(w, "%s\n", text); err != nil {
		return fmt.Errorf("writing output: %w", err)
	}
	return nil
}
