package demo

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/outcomes"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
)

// wrongTime says that the times of a file are read from the wrong field: if most records lie in no
// year in which events lie, and most of them would by another field. It returns nil where the file
// does not prove it.
func (e *explaining) wrongTime() ([]Cause, error) {
	if e.records == 0 || 2*e.now.believed.n >= e.records {
		return nil, nil
	}
	records, err := sample(e.source)
	if err != nil {
		return nil, err
	}
	format := e.source.Traits().Format
	better := timeFields(format, fieldsOf(format, records), records)
	if better == nil {
		return nil, nil
	}
	lie := "none of them is such a time"
	if at := e.now.all; at.n > 0 {
		lie = fmt.Sprintf("%s are times, from %s to %s", number(at.n), stamp(e.source, at.first), stamp(e.source, at.last))
	}
	var cures []string
	for _, r := range better[:min(len(better), MaxCauses)] {
		p := r.recent
		cures = append(cures, fmt.Sprintf("--time-field %s --time-unit %s gives %s times from %s to %s", r.field, r.unit, number(p.n), stamp(e.source, p.first), stamp(e.source, p.last)))
	}
	text := fmt.Sprintf("%s have no time of the years %d to %d by --time-field %s --time-unit %s (%s); of the records that were tried, %s", outcomes.Part(e.records-e.now.believed.n, e.records, "record"),
		believedFrom.Year(), believedTo.Year()-1, e.now.field, cmp.Or(e.now.unit, "(of the schema)"), lie, strings.Join(cures, ", or "))
	return []Cause{{Text: text, Set: map[string]string{"time-field": better[0].field, "time-unit": better[0].unit, "time-layout": ""}}}, nil
}

func number(n uint64) string { return terminal.Number(float64(n), 0) }

// stamp writes a time of a source's events.
func stamp(source Source, millis int64) string {
	layout := time.RFC3339
	if source.Traits().Format.WallZone != "" {
		layout = "2006-01-02T15:04:05"
	}
	return time.UnixMilli(millis).UTC().Format(layout)
}
