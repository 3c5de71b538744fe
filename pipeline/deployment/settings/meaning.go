package settings

import (
	_ "embed" // for the text below
	"strings"

	"github.com/tollgate-dp/tollgate/internal/base/formats/spelling"
	"github.com/tollgate-dp/tollgate/schemas/event"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// meaningsText contains a line for every field of the table: its path in a file, a colon and its
// meaning. A name in braces stands for a list, such as all kinds of metrics.
//
//go:embed meanings.txt
var meaningsText string

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
	for line := range strings.Lines(lists.Replace(meaningsText)) {
		path, meaning, _ := strings.Cut(strings.TrimSpace(line), ": ")
		all[path] = meaning
	}
	return all
}

// explain sets the meaning of every field. parent is the path of their object, with a final dot.
func explain(fields []Field, parent string, meanings map[string]string) {
	for i := range fields {
		path := parent + fields[i].Name
		fields[i].Meaning = meanings[path]
		explain(fields[i].Fields, path+".", meanings)
	}
}
