package demo

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/outcomes"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// MaxCauses limits the causes that Causes returns.
const MaxCauses = 3

// Causes returns the reasons why little was released or most records were lost, the most important
// first; each concerns at least a tenth of the records. It returns nil if enough was released.
// released is the number of released values. The texts contain exact numbers, for the holder of the
// source only.
func Causes(s Settings, source Source, result Result, released int) (causes []string) {
	t := result.Tallies
	if t.Read == 0 {
		return []string{"the input has no records"}
	}
	if !s.tooLittle(result, released) {
		return nil
	}
	from, to := source.Range()
	m := t.Metrics[0]
	found := []cause{
		{t.BeforeStart, fmt.Sprintf("are before --from %s: give an earlier one", stamp(source, from.UnixMilli()))},
		{m.Open, fmt.Sprintf("are not before --to %s: give a later one", stamp(source, to.UnixMilli()))},
		{m.Filtered, "have a key that --public-keys does not list: list it, or find the keys of the file with --keys " +
			"private"},
	}
	if file, ok := source.(*File); ok {
		found = append(found, cause{t.Broken(), "are broken: " + s.remedy(file)})
	}
	if released > 0 || 4*m.Beyond >= t.Accepted {
		found = append(found, cause{m.Beyond, "are beyond the allowances of their users"})
	}
	slices.SortStableFunc(found, func(a, b cause) int { return cmp.Compare(b.records, a.records) })
	for _, c := range found {
		if c.records > 0 && 10*c.records >= t.Read && len(causes) < MaxCauses {
			causes = append(causes, outcomes.Part(c.records, t.Read, "record")+" "+c.text)
		}
	}
	return causes
}

// cause is a reason why records were lost.
type cause struct {
	records uint64
	text    string
}

// NoEvents returns the reasons why a file with records has no event.
func NoEvents(s Settings, f *File) []string {
	t := unreadable(f.Unreadable())
	return Causes(s, f, Result{Loaded: t.Read, Tallies: t}, 0)
}

// tooLittle reports whether so little was released or counted that a user wants to know why.
func (s Settings) tooLittle(result Result, released int) bool {
	t := result.Tallies
	m := t.Metrics[0]
	return released == 0 || outcomes.Lost(pipeline.Tallies{}, t).Most() || 2*m.Filtered > t.Accepted ||
		2*m.Open > t.Accepted || s.Private() && 10*uint64(released) < result.Turns
}

// remedy returns advice on the most frequent fault of a file's records.
func (s Settings) remedy(file *File) string {
	most, format := file.Faults().Most(), file.Traits().Format
	switch {
	case most.Class == event.ClassOversized:
		return "a record may have at most " + terminal.Number(MaxRecordBytes, 0) + " bytes"
	case most.Class == event.ClassEmptyUser:
		return "leave records without a user out with --no-user " + SkipNoUser
	case most.Field == "user":
		return "check --user-field " + format.User
	case most.Field == "key":
		return "check --key-field " + strings.Join(format.FieldsOf("key"), ",")
	case most.Field == "value":
		return "check --value-field " + format.Value
	case most.Field == "time":
		return fmt.Sprintf("check --time-field %s, --time-unit %s and --time-layout",
			strings.Join(format.FieldsOf("time"), ","), cmp.Or(format.TimeUnit, "(of the schema)"))
	}
	return "check --input-format " + format.Format
}

// stamp formats a time of a source's events.
func stamp(source Source, millis int64) string {
	layout := time.RFC3339
	if source.Traits().Format.WallZone != "" {
		layout = "2006-01-02T15:04:05"
	}
	return time.UnixMilli(millis).UTC().Format(layout)
}
