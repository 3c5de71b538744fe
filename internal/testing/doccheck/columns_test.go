package doccheck

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// maxColumns limits a line of Go, with four columns for a tab.
const maxColumns = 120

// tooWide are the directories that still have longer lines. Remove those that you have wrapped;
// never add one.
var tooWide = strings.Fields(`
integration
internal/app/cli
internal/app/commands
internal/app/commands/budget
internal/app/commands/change
internal/app/commands/command
internal/app/commands/commandtest
internal/app/commands/demo
internal/app/commands/initialise
internal/app/commands/input
internal/app/commands/replay
internal/app/commands/run
internal/app/commands/serve
internal/app/commands/status
internal/app/commands/validate
internal/app/config
internal/app/demo
internal/app/eventfile
internal/app/experiment
internal/app/experiment/counts
internal/app/experiment/descent
internal/app/experiment/filters
internal/app/experiment/odometers
internal/app/experiment/year
internal/app/monitor
internal/app/outcomes
internal/app/plan
internal/app/plan/choice
internal/app/replay
internal/app/report
internal/app/serve
internal/app/startrecord
internal/app/terminal
internal/testing/deploytest
pipeline
pipeline/deployment
schemas/event
schemas/event/filter
schemas/metrickind
state/accounting
state/compose
state/conversion
state/pld
transforms
transforms/plain
`)

func TestNoLineOfGoIsTooWide(t *testing.T) {
	for _, s := range sources(t) {
		for n, line := range strings.Split(s.text, "\n") {
			if columns := utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    ")); columns > maxColumns {
				t.Errorf("%s:%d: %d columns: break the line at %d", s.path, n+1, columns, maxColumns)
			}
		}
	}
}
