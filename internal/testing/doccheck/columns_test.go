package doccheck

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// maxColumns limits a line of Go, with four columns for a tab.
const maxColumns = 120

// tooWide are the directories that still have longer lines. Remove those that you have wrapped;
// never add one.
var tooWide = strings.Fields(`
cmd/experiments
deploy/release
integration
internal/app/cli
internal/app/commands
internal/app/config
internal/app/demo
internal/app/eventfile
internal/app/experiment
internal/app/experiment/counts
internal/app/experiment/descent
internal/app/experiment/filters
internal/app/experiment/odometers
internal/app/experiment/page
internal/app/experiment/year
internal/app/generate
internal/app/keyfile
internal/app/monitor
internal/app/monitor/process
internal/app/outcomes
internal/app/outfile
internal/app/plan
internal/app/plan/choice
internal/app/replay
internal/app/report
internal/app/serve
internal/app/startrecord
internal/app/terminal
internal/base/formats/avro
internal/base/formats/csvrow
internal/base/formats/spelling
internal/base/hooks/localrunner
internal/base/kafka/embedded
internal/base/kafka/kafkalog
internal/base/kafka/registry
internal/base/numbers/int128
internal/base/numbers/rounding
internal/base/numbers/wallclock
internal/testing/chance
internal/testing/deployfiles
internal/testing/deploytest
internal/testing/doccheck
internal/testing/layers
internal/testing/memledger
internal/testing/peers
internal/testing/python
internal/testing/realflink
internal/testing/realkafka
internal/testing/reference
internal/testing/runseed
pipeline
pipeline/deployment
pipeline/flink
pipeline/internal/admin
pipeline/internal/calendar
pipeline/internal/changes
pipeline/internal/connect
pipeline/internal/controllog
pipeline/internal/countslog
pipeline/internal/ledgerlog
pipeline/internal/packing
pipeline/internal/publishing
pipeline/internal/reading
pipeline/internal/topicrules
pipeline/internal/watch
pipeline/published
schemas
schemas/event
schemas/event/filter
schemas/metrickind
schemas/secret
state/accounting
state/accounts
state/bucket
state/budgets
state/compose
state/continual
state/conversion
state/internal/bigmath
state/internal/fixed
state/loss
state/pld
state/units
transforms
transforms/hook
transforms/mechanisms
transforms/noisereduction
transforms/plain
transforms/release
transforms/spend
`)

func TestNoLineOfGoIsTooWide(t *testing.T) {
	wide := map[string]int{}
	for _, s := range sources(t) {
		for n, line := range strings.Split(s.text, "\n") {
			if columns := utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    ")); columns > maxColumns {
				wide[s.dir]++
				if !slices.Contains(tooWide, s.dir) {
					t.Errorf("%s:%d: %d columns: break the line at %d", s.path, n+1, columns, maxColumns)
				}
			}
		}
	}
	for _, dir := range tooWide {
		if wide[dir] == 0 {
			t.Errorf("%s has no line over %d columns any more: remove it from tooWide", dir, maxColumns)
		}
	}
	t.Logf("lines over %d columns: %v", maxColumns, wide)
}
