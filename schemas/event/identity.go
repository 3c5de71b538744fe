package event

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/event/filter"
)

// Identity describes how the format decodes records. registry names the registry for the schema ids
// in records. Errors are *FormatError.
func (f Format) Identity(registry string) (schemas.EventIdentity, error) {
	d, err := f.compile(nil)
	if err != nil {
		return schemas.EventIdentity{}, err
	}
	var id schemas.EventIdentity
	for i, to := range [...]*string{fieldUser: &id.User, fieldValue: &id.Value} {
		if to != nil && d.fields[i] != "" {
			*to = d.records.place(i, registry)
		}
	}
	if d.decimals > 0 && f.Value != "" {
		id.Value = fmt.Sprintf("units of 10^-%d of %s", d.decimals, id.Value)
	}
	if d.comma {
		id.Value += " with a decimal comma"
	}
	if d.valued {
		id.Value += ", else no event"
	}
	if d.unnamed {
		id.User += unnamedPlace
	}
	if id.Key = "no key"; f.Key != "" {
		id.Key = d.placeOf(fieldKey, fieldMoreKeys, d.keys, registry)
	}
	id.Time = d.placeOf(fieldTime, fieldMoreTimes, d.times, registry)
	for _, text := range f.Filters {
		id.Filters = append(id.Filters, d.identityOfFilter(text, registry))
	}
	id.Records = fmt.Sprintf("at most %d bytes", d.max)
	if common := d.records.common(); common != "" {
		id.Records = common + ", " + id.Records
	}
	return id, nil
}

// inUnit appends the unit of the time to its place.
func (d *Decoder) inUnit(field int, found string) string {
	if field == fieldTime {
		found += fmt.Sprintf(" in %q", d.unit) + d.textTimes()
	}
	return found
}

// textTimes describes how texts are read as times, apart from the unit.
func (d *Decoder) textTimes() (how string) {
	if d.writtenAs != "" {
		how += fmt.Sprintf(" as %q", d.writtenAs)
	}
	if d.clock != nil {
		how += fmt.Sprintf(" by the clock of %q", d.clock)
	}
	if d.zone != nil {
		how += fmt.Sprintf(" at %q", d.zone)
	}
	return how
}

// identityOfFilter describes the places of a filter's fields.
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
