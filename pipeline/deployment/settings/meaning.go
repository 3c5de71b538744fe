package settings

import (
	_ "embed" // for the text below
	"strings"

	"github.com/tollgate-dp/tollgate/internal/base/formats/spelling"
	"github.com/tollgate-dp/tollgate/schemas/event"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// text contains a line for every field of the table: its path in a file, a colon and its meaning. A
// name in braces stands for a list, such as all kinds of metrics.
//
//go:embed meanings.txt
var text string

// meanings returns the meanings of all fields by path.
func meanings() map[string]string {
	var records []string
	for _, e := range event.Encodings() {
		records = append(records, "`"+e.Name+"`: "+e.Record)
	}
	lists := strings.NewReplacer(
		"{kinds}", spelling.List(metrickind.Meanings(metrickind.Offered()), ", or "),
		"{records}", strings.Join(records, "; "),
		"{rows}", event.Listed(event.Encoding.Tabular, " and "),
		"{schemas}", event.Listed(event.Encoding.Schemas, " and "),
		"{valued}", metrickind.Plural(metrickind.Valued()),
	)
	all := map[string]string{}
	for line := range strings.Lines(lists.Replace(text)) {
		path, meaning, _ := strings.Cut(strings.TrimSpace(line), ": ")
		all[path] = meaning
	}
	return all
}

// explain gives every field its meaning.
func explain(fields []Field, within string, meanings map[string]string) {
	for i := range fields {
		path := within + fields[i].Name
		fields[i].Meaning = meanings[path]
		explain(fields[i].Fields, path+".", meanings)
	}
}
