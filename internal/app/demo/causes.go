package demo

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/app/outcomes"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/internal/formats/spelling"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// MaxCauses is how many causes Causes returns at most.
const MaxCauses = 3

// Cause is one reason why little was released.
type Cause struct {
	Text string
	// Set are flags that would change it, with their values: "" leaves the flag out. Nil: none is
	// known.
	Set map[string]string

	rank    rank
	records uint64 // that it took, or keeps unpublished
}

// rank is what a cause comes before, whatever their records: the greater first.
type rank int

const (
	usual     rank = iota
	tookMost       // a bound that took most records
	allFields      // what makes all else follow
)

// Causes says why nothing or little was released, or most records were lost: each cause with its
// figures, those that took most records first. Only what the source proves is named; nil where
// enough was released, and where no cause stands out. released is how many values were released.
// The texts are exact, for the holder of the source only.
//
// It may read the source again, and holds then its users and keys in memory. Errors are those of
// reading the source.
func Causes(s Settings, source Source, result Result, released int) ([]Cause, error) {
	little, odd := s.little(result, released), oddRange(source)
	if !little && !odd {
		return nil, nil
	}
	if result.Tallies.Read == 0 {
		return []Cause{{Text: "the input has no records"}}, nil
	}
	f, err := s.look(source)
	if err != nil || f.now == nil {
		return nil, err
	}
	e := explaining{Settings: s, figures: f, source: source, tallies: result.Tallies, nothing: released == 0}
	if _, file := source.(*File); file {
		wrong, err := e.wrongTime()
		if err != nil || wrong != nil {
			return wrong, err // what follows from wrong times is no cause
		}
	}
	if !little {
		return nil, nil
	}
	if err := e.all(); err != nil {
		return nil, err
	}
	return e.most(), nil
}

// NoEvents says why a file has records, but no event.
func NoEvents(s Settings, f *File) ([]Cause, error) {
	t := unreadable(f.Unreadable())
	return Causes(s, f, Result{Loaded: t.Read, Tallies: t}, 0)
}

// little reports whether so little was released, or counted, that a reader asks why.
func (s Settings) little(result Result, released int) bool {
	t := result.Tallies
	m := t.Metrics[0]
	return released == 0 || outcomes.Lost(pipeline.Tallies{}, t).Most() || 2*m.Filtered > t.Accepted || 2*m.Open > t.Accepted ||
		s.Private() && 10*uint64(released) < result.Turns
}

// oddRange reports whether windows lie where hardly an event lies: a sign of a wrong unit of time.
func oddRange(source Source) bool {
	from, to := source.Range()
	return !from.IsZero() && (from.Before(believedFrom) || to.After(believedTo.AddDate(1, 0, 0)))
}

// explaining collects the causes.
type explaining struct {
	Settings
	*figures
	source  Source
	tallies pipeline.Tallies
	nothing bool // was released
	found   []Cause
}

func (e *explaining) add(records uint64, set map[string]string, format string, args ...any) {
	e.found = append(e.found, Cause{Text: fmt.Sprintf(format, args...), Set: set, records: records})
}

// most returns the causes that took at least a tenth of the records.
func (e *explaining) most() []Cause {
	slices.SortStableFunc(e.found, func(a, b Cause) int { return cmp.Or(cmp.Compare(b.rank, a.rank), cmp.Compare(b.records, a.records)) })
	out := slices.DeleteFunc(e.found, func(c Cause) bool { return 10*c.records < e.tallies.Read })
	return out[:min(len(out), MaxCauses)]
}

func (e *explaining) all() error {
	if err := e.brokenRecords(); err != nil {
		return err
	}
	e.swapped()
	e.outside()
	e.bounded()
	m := e.tallies.Metrics[0]
	if m.Filtered > 0 {
		near := ""
		if e.foldable > 0 {
			near = fmt.Sprintf("; %s differ from a key of the list only in case or spaces", number(e.foldable))
		}
		if len(e.PublicKeys) == 1 {
			near += fmt.Sprintf("; the only key of the list is %q", e.PublicKeys[0])
		}
		e.add(m.Filtered, map[string]string{"keys": "private", "public-keys": ""},
			"%s have a key that --public-keys does not list%s: list it, or find the keys of the file with --keys private", outcomes.Part(m.Filtered, e.tallies.Accepted, "accepted record"), near)
	}
	return nil
}

// Fewer users than fewUsers with more keys than swappedKeys times as many look like swapped fields.
const (
	fewUsers    = 20
	swappedKeys = 50
)

// swapped asks whether users and keys are each in the field of the other. Data cannot prove it.
func (e *explaining) swapped() {
	format := e.source.Traits().Format
	if e.users == 0 || e.users >= fewUsers || e.keys <= swappedKeys*e.users || format.Key == "" {
		return
	}
	var set map[string]string
	if len(format.FieldsOf("key")) == 1 {
		set = map[string]string{"user-field": format.Key, "key-field": format.User}
	}
	e.add(e.tallies.Read, set,
		"%s and %s: check whether --user-field %s and --key-field %s are swapped. The data do not prove it; if the fields are right, these are few users for so many keys",
		terminal.Count(uint64(e.users), "user"), terminal.Count(uint64(e.keys), "key"), format.User, fieldFlag(format, "key"))
	e.found[len(e.found)-1].rank = allFields
}

// bounded names the records beyond the allowance. Where nothing was released, few of them did not
// do it.
func (e *explaining) bounded() {
	m := e.tallies.Metrics[0]
	if e.nothing && 4*m.Beyond < e.tallies.Accepted {
		return
	}
	e.add(m.Beyond, nil, "%s are beyond the allowances of their users", outcomes.Part(m.Beyond, e.tallies.Accepted, "accepted record"))
	if 2*m.Beyond > e.tallies.Read {
		e.found[len(e.found)-1].rank = tookMost
	}
}

// brokenRecords names what is wrong with most of the records that are no events, and where.
func (e *explaining) brokenRecords() error {
	n := e.tallies.Broken()
	if 10*n < e.tallies.Read {
		return nil
	}
	var most event.Error
	var kinds []string
	byCount := func(a, b event.Error) int {
		return cmp.Or(cmp.Compare(e.broken[b], e.broken[a]), strings.Compare(a.Class+a.Field, b.Class+b.Field))
	}
	for i, kind := range slices.SortedFunc(maps.Keys(e.broken), byCount) {
		if i == 0 {
			most = kind
		}
		if i < MaxCauses {
			kinds = append(kinds, number(e.broken[kind])+" "+strings.TrimSpace(kind.Class+" "+kind.Field))
		}
	}
	records, err := sample(e.source)
	if err != nil {
		return err
	}
	format := e.source.Traits().Format
	var set map[string]string
	var notes []string
	names := fieldsOf(format, records)
	if len(names) > 0 {
		notes = append(notes, "the fields are "+strings.Join(names, ", "))
	}
	remedy := map[string]string{
		"user":  fmt.Sprintf("check --user-field %s", format.User),
		"key":   fmt.Sprintf("check --key-field %s", fieldFlag(format, "key")),
		"value": fmt.Sprintf("check --value-field %s: a value is a number such as 0.5, and without --decimals a whole number", format.Value),
		"time":  fmt.Sprintf("check --time-field %s and --time-unit %s", fieldFlag(format, "time"), cmp.Or(format.TimeUnit, "(of the schema)")),
		"":      fmt.Sprintf("check --input-format %s, --header and --columns", format.Format),
	}[most.Field]
	if most.Field == "" && !format.Encoding().Tabular() {
		remedy = "check --input-format " + format.Format
	}
	switch most.Class {
	case event.ClassMissingField:
		for _, name := range format.FieldsOf(most.Field) {
			if meant := spelling.Nearest(names, name); meant != "" && !slices.Contains(names, name) {
				remedy += fmt.Sprintf(", did you mean %s?", meant)
			}
		}
	case event.ClassOversized:
		remedy, notes = "a record may have at most "+number(MaxRecordBytes)+" bytes", nil
	case event.ClassEmptyUser:
		remedy, notes = fmt.Sprintf("%s is empty there: leave such records out with --no-user skip", format.User), nil
		set = map[string]string{"no-user": SkipNoUser}
	case event.ClassBadKey:
		remedy = fmt.Sprintf("keys must be UTF-8: correct --key-field %s, or give the file's encoding, for example --encoding latin1", fieldFlag(format, "key"))
	case event.ClassBadTimestamp:
		if like := timesOf(format.TimeUnit); like != "" {
			notes = slices.Insert(notes, 0, like)
		}
	}
	if notes != nil {
		remedy += " (" + strings.Join(notes, "; ") + ")"
	}
	e.add(n, set, "%s are broken (%s): %s", outcomes.Part(n, e.tallies.Read, "record"), strings.Join(kinds, ", "), remedy)
	return nil
}

// fieldFlag returns the fields of a key or a time as --key-field and --time-field name them.
func fieldFlag(format event.Format, field string) string {
	return strings.Join(format.FieldsOf(field), ",")
}

// timesOf says what times are like in a unit.
func timesOf(unit string) string {
	switch unit {
	case "rfc3339":
		return "like 2025-03-03T00:00:01Z, with a T and a zone"
	case event.TimeText:
		return "like 2025-03-03 00:00:01; the help has more layouts, and --time-layout reads others, like %m/%d/%Y or %Y; convert those that neither reads"
	case "":
		return ""
	}
	return "a number"
}

// outside names records that lie outside of the range of windows.
func (e *explaining) outside() {
	from, to := e.source.Range()
	size := e.Window.Milliseconds()
	if n := e.tallies.BeforeStart; n > 0 {
		first := max(e.now.all.first, 0)
		include := stamp(e.source, first-first%size)
		set, cure := map[string]string{"from": include}, "--from "+include+" includes them"
		if first-first%size >= from.UnixMilli() {
			set, cure = nil, "no event before 1970 counts"
		} else if e.now.all.first < 0 {
			cure += " from 1970 on"
		}
		e.add(n, set, "%s are before --from %s: the earliest is of %s; %s", outcomes.Part(n, e.tallies.Read, "record"), stamp(e.source, from.UnixMilli()), stamp(e.source, e.now.all.first), cure)
	}
	if n := e.tallies.Metrics[0].Open; n > 0 {
		last := e.now.all.last
		include := stamp(e.source, last-last%size+size)
		e.add(n, map[string]string{"to": include}, "%s are not before --to %s: the latest is of %s; --to %s includes them", outcomes.Part(n, e.tallies.Read, "record"), stamp(e.source, to.UnixMilli()),
			stamp(e.source, last), include)
	}
}
