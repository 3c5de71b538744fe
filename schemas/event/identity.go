package event

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/event/filter"
)

// Identity returns a description of how the format decodes records. registry identifies the
// registry that defines the schema ids in records. Errors are *FormatError.
func (f Format) Identity(registry string) (schemas.EventIdentity, error) {
	d, err := f.compile(nil)
	if err != nil {
		return schemas.EventIdentity{}, err
	}
	var id schemas.EventIdentity
	for i, target := range [...]*string{fieldUser: &id.User, fieldValue: &id.Value} {
		if target != nil && d.fields[i] != "" {
			*target = d.records.place(i, registry)
		}
	}
	if d.decimals > 0 && f.Value != "" {
		id.Value = fmt.Sprintf("units of 10^-%d of %s", d.decimals, id.Value)
	}
	if d.decimalComma {
		id.Value += " with a decimal comma"
	}
	if d.skipNoValue {
		id.Value += ", else no event"
	}
	if d.allowNoUser {
		id.User += unnamedPlace
	}
	if id.Key = "no key"; f.Key != "" {
		id.Key = d.placeOf(fieldKey, fieldMoreKeys, d.keyParts, registry)
	}
	id.Time = d.placeOf(fieldTime, fieldMoreTimes, d.timeParts, registry)
	for _, text := range f.Filters {
		id.Filters = append(id.Filters, d.identityOfFilter(text, registry))
	}
	id.Records = fmt.Sprintf("at most %d bytes", d.max)
	if common := d.records.common(); common != "" {
		id.Records = common + ", " + id.Records
	}
	return id, nil
}

// inUnit appends the unit of times to place if field is the time.
func (d *Decoder) inUnit(field int, place string) string {
	if field == fieldTime {
		place += fmt.Sprintf(" in %q", d.unit) + d.textTimes()
	}
	return place
}

// textTimes describes how text is parsed as a time, except for the unit.
func (d *Decoder) textTimes() (details string) {
	if d.layoutText != "" {
		details += fmt.Sprintf(" as %q", d.layoutText)
	}
	if d.clock != nil {
		details += fmt.Sprintf(" by the clock of %q", d.clock)
	}
	if d.zone != nil {
		details += fmt.Sprintf(" at %q", d.zone)
	}
	return details
}

// identityOfFilter describes the places of the fields that a filter uses.
func (d *Decoder) identityOfFilter(text, registry string) string {
	if all := d.records.members(registry); all != "" {
		return all
	}
	names, _ := filter.Fields(text) // compiled before
	var all []string
	for _, name := range names {
		number := fieldCount + slices.Index(d.filter.Names(), name)
		all = append(all, fmt.Sprintf("%q in %s", name, d.records.place(number, registry)))
	}
	return strings.Join(all, ", ")
}
