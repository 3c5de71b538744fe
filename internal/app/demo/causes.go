package demo

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/app/funnel"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// MaxCauses is how many causes Causes returns at most.
const MaxCauses = 3

// cause is one reason why little was released, with the records that it took, or keeps unpublished.
type cause struct {
	rank    rank
	records uint64
	text    string
}

// rank is what a cause comes before, whatever their records: the greater first.
type rank int

const (
	usual     rank = iota
	tookMost       // a bound that took most records
	allFields      // what makes all else follow
)

// Causes says why nothing or little was released, or most records were lost: each cause with its
// figures, and the flag with a value that would change it, those that took most records first. Only
// what the source proves is named; nil where enough was released, and where no cause stands out.
// released is how many values were released. The texts are exact, for the holder of the source
// only.
//
// It may read the source again, and holds then its users and keys in memory. Errors are those of
// reading the source.
func Causes(s Settings, source Source, result Result, released int) ([]string, error) {
	little, odd := s.little(result, released), oddRange(source)
	if !little && !odd {
		return nil, nil
	}
	if result.Tallies.Read == 0 {
		return []string{"the input has no records"}, nil
	}
	limits, err := s.limits()
	if err != nil {
		return nil, err
	}
	f, err := s.look(source, limits, nil)
	if err != nil || f.now == nil {
		return nil, err
	}
	e := explaining{Settings: s, figures: f, source: source, tallies: result.Tallies, limits: limits, nothing: released == 0}
	if _, file := source.(*File); file {
		wrong, err := e.wrongTime()
		if err != nil || wrong != "" {
			// what follows from wrong times is no cause
			return slices.DeleteFunc([]string{wrong}, func(text string) bool { return text == "" }), err
		}
	}
	if !little {
		return nil, nil
	}
	if err := e.all(); err != nil {
		return nil, err
	}
	return e.texts(), nil
}

// little reports whether so little was released, or counted, that a reader asks why.
func (s Settings) little(result Result, released int) bool {
	t := result.Tallies
	m := t.Metrics[0]
	return released == 0 || funnel.Lost(pipeline.Tallies{}, t).Most() || 2*m.Filtered > t.Accepted || 2*m.Open > t.Accepted ||
		s.Private() && 10*uint64(released) < result.Turns
}

// oddRange reports whether windows lie where hardly an event lies: a sign of a wrong unit of time.
func oddRange(source Source) bool {
	from, to := source.Range()
	return !from.IsZero() && (from.Before(believedFrom) || to.After(believedTo.AddDate(1, 0, 0)))
}

// limits say which private keys are released, in units of the count; tau is −Inf for public keys.
type limits struct {
	tau   float64 // from this size on a key is released in the middle of the noise; +Inf where the settings are refused
	sigma float64 // standard deviation of the noise by which that is decided
}

func (s Settings) limits() (limits, error) {
	d, err := s.Compile()
	if err != nil {
		return limits{}, err
	}
	plan := d.Metrics[0].Plan
	return limits{plan.Threshold(), 1 / math.Sqrt(plan.First().Float())}, nil
}

// explaining collects the causes.
type explaining struct {
	Settings
	*figures
	source  Source
	tallies pipeline.Tallies
	limits
	nothing bool // was released
	found   []cause
}

func (e *explaining) add(records uint64, format string, args ...any) {
	e.found = append(e.found, cause{usual, records, fmt.Sprintf(format, args...)})
}

// texts returns the causes that took at least a tenth of the records.
func (e *explaining) texts() []string {
	slices.SortStableFunc(e.found, func(a, b cause) int { return cmp.Or(cmp.Compare(b.rank, a.rank), cmp.Compare(b.records, a.records)) })
	var out []string
	for _, c := range e.found {
		if 10*c.records >= e.tallies.Read && len(out) < MaxCauses {
			out = append(out, c.text)
		}
	}
	return out
}

func (e *explaining) all() error {
	if err := e.brokenRecords(); err != nil {
		return err
	}
	e.swapped()
	e.outside()
	if err := e.bounded(); err != nil {
		return err
	}
	m, at := e.tallies.Metrics[0], e.sizes[0]
	if m.Filtered > 0 {
		near := ""
		if e.foldable > 0 {
			near = fmt.Sprintf("; %s differ from a key of the list only in case or spaces", number(e.foldable))
		}
		if len(e.PublicKeys) == 1 {
			near += fmt.Sprintf("; the only key of the list is %q", e.PublicKeys[0])
		}
		e.add(m.Filtered, "%s have a key that --public-keys does not list%s: list it, or find the keys of the file with --keys private",
			of(m.Filtered, e.tallies.Accepted, "accepted record"), near)
	}
	if e.Private() && 2*at.below > at.counts {
		text, err := e.belowThreshold(at)
		if err != nil {
			return err
		}
		e.add(at.belowOf, "%s", text)
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
	e.found = append(e.found, cause{allFields, e.tallies.Read, fmt.Sprintf(
		"%s and %s: check whether --user-field %s and --key-field %s are swapped. The data do not prove it; if the fields are right, these are few users for so many keys",
		plural(uint64(e.users), "user"), plural(uint64(e.keys), "key"), format.User, format.Key)})
}

// bounded names the bounds that records exceeded, and what it brings to raise them. Where nothing
// was released, a bound that took few records did not do it.
func (e *explaining) bounded() error {
	m, at := e.tallies.Metrics[0], e.sizes[0]
	smaller := "; a smaller --window clips less, too"
	if e.nothing && e.Private() {
		smaller = "" // but makes counts smaller, too
	}
	for _, b := range []struct {
		records uint64
		exceeds string
		now     int
		keeps   uint64
		set     func(*Settings, int)
		also    string
	}{
		{
			m.ClippedKeys, fmt.Sprintf("are of more keys than --max-keys-per-user %d allows a user in a window", e.MaxKeysPerUser),
			e.MaxKeysPerUser, at.byKeys.keeps(0.95), func(s *Settings, n int) { s.MaxKeysPerUser = n }, smaller,
		},
		{
			m.ClippedEvents, fmt.Sprintf("are more than --max-events-per-key %d allows a user for a key in a window", e.MaxEventsPerKey),
			e.MaxEventsPerKey, at.byEvents.keeps(0.95), func(s *Settings, n int) { s.MaxEventsPerKey = n }, smaller,
		},
		{
			m.OverBudget, fmt.Sprintf("are of users whose budget was spent (--last-at-least %d)", e.LastAtLeast),
			e.LastAtLeast, at.byWindows().keeps(0.95), func(s *Settings, n int) { s.LastAtLeast = n }, "; larger windows spend less, too",
		},
	} {
		if 10*b.records < e.tallies.Read || e.nothing && 4*b.records < e.tallies.Accepted {
			continue
		}
		cure, err := e.raise(b.now, b.keeps, b.set)
		if err != nil {
			return err
		}
		c := cause{usual, b.records, of(b.records, e.tallies.Accepted, "accepted record") + " " + b.exceeds + cure + b.also}
		if 2*b.records > e.tallies.Read {
			c.rank = tookMost
		}
		e.found = append(e.found, c)
	}
	return nil
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
	var notes []string
	if names := fieldsOf(format, records); len(names) > 0 {
		notes = append(notes, "the fields are "+strings.Join(names, ", "))
	}
	remedy := map[string]string{
		"user": fmt.Sprintf("check --user-field %s", format.User),
		"key":  fmt.Sprintf("check --key-field %s", format.Key),
		"time": fmt.Sprintf("check --time-field %s and --time-unit %s", format.Time, cmp.Or(format.TimeUnit, "(of the schema)")),
		"":     fmt.Sprintf("check --input-format %s, --header and --columns", format.Format),
	}[most.Field]
	switch most.Class {
	case event.ClassOversized:
		remedy, notes = "a record may have at most "+number(MaxRecordBytes)+" bytes", nil
	case event.ClassBadKey:
		remedy = fmt.Sprintf("keys must be UTF-8: correct --key-field %s, or convert the file, for example with iconv -f latin1 -t utf-8", format.Key)
	case event.ClassBadTimestamp:
		if like := timesOf(format.TimeUnit); like != "" {
			notes = slices.Insert(notes, 0, like)
		}
	}
	if notes != nil {
		remedy += " (" + strings.Join(notes, "; ") + ")"
	}
	e.add(n, "%s are broken (%s): %s", of(n, e.tallies.Read, "record"), strings.Join(kinds, ", "), remedy)
	return nil
}

// timesOf says what times are like in a unit.
func timesOf(unit string) string {
	switch unit {
	case "rfc3339":
		return "like 2025-03-03T00:00:01Z, with a T and a zone"
	case "s", "ms", "us":
		return "a number since 1970; divide nanoseconds by 1000 and use us"
	}
	return ""
}

// outside names records that lie outside of the range of windows.
func (e *explaining) outside() {
	from, to := e.source.Range()
	size := e.Window.Milliseconds()
	if n := e.tallies.BeforeStart; n > 0 {
		first := max(e.now.all.first, 0)
		e.add(n, "%s are before --from %s: the earliest is of %s; --from %s includes them", of(n, e.tallies.Read, "record"), stamp(from.UnixMilli()),
			stamp(e.now.all.first), stamp(first-first%size))
	}
	if n := e.tallies.Metrics[0].Open; n > 0 {
		last := e.now.all.last
		e.add(n, "%s are not before --to %s: the latest is of %s; --to %s includes them", of(n, e.tallies.Read, "record"), stamp(to.UnixMilli()),
			stamp(last), stamp(last-last%size+size))
	}
}

// belowThreshold says how far the counts are from the threshold, and which flags would help,
// as far as the data prove it.
func (e *explaining) belowThreshold(at *cells) (string, error) {
	reach := fmt.Sprintf("none of %s", plural(at.counts, "count"))
	if at.below < at.counts {
		reach = fmt.Sprintf("only %s of %s", number(at.counts-at.below), plural(at.counts, "count"))
	}
	about := ""
	if e.tallies.Metrics[0].ClippedKeys > 0 {
		about = "about " // which keys of a user stay is decided by a hash
	}
	text := fmt.Sprintf("%s (a key in a window) reached %s, from which a private key is released (below it only if the noise is high): the largest count is %s%s, of %s; the median window has %s.",
		reach, size(e.tau), about, terminal.Number(at.largest, 0), plural(at.behind, "user"), plural(uint64(at.median()), "user"))
	var cures []string
	if n, tau, err := e.lastWithin(); err != nil {
		return "", err
	} else if n > 0 {
		cures = append(cures, fmt.Sprintf("--last-at-least %d lowers it to %s", n, size(tau)))
	}
	for _, c := range e.sizes[1:] {
		if c.released.nothing <= sureOf {
			cures = append(cures, fmt.Sprintf("--window %s raises the largest to %s", hours(c.size), terminal.Number(c.largest, 0)))
			break
		}
	}
	if cures == nil {
		epsilon, tau, err := e.epsilonWithin()
		if err != nil {
			return "", err
		}
		if epsilon > 0 {
			cures = append(cures, fmt.Sprintf("--epsilon %v, a weaker promise, lowers it to %s", epsilon, size(tau)))
		}
	}
	if e.source.Traits().Format.Key != "" {
		cures = append(cures, publicKeys+", releases all of them")
	}
	return text + " " + strings.Join(cures, "; "), nil
}

// epsilonWithin returns the least --epsilon of 1, 2 or 5 times a power of ten, above that of the
// settings and at most 1, with which some key is released, and the threshold; 0 where there is
// none.
func (e *explaining) epsilonWithin() (epsilon, tau float64, err error) {
	var tried []raised
	for power := -9; power <= 0; power++ {
		for _, digit := range []int{1, 2, 5} {
			epsilon, err := strconv.ParseFloat(fmt.Sprintf("%de%d", digit, power), 64)
			if err != nil {
				return 0, 0, err
			}
			if epsilon <= e.Epsilon || epsilon > 1 {
				continue
			}
			r, err := e.with(0, func(s *Settings, _ int) { s.Epsilon = epsilon })
			if err != nil {
				return 0, 0, err
			}
			tried = append(tried, r)
		}
	}
	if err := e.count(tried); err != nil {
		return 0, 0, err
	}
	for _, r := range tried {
		if !r.hides() {
			return r.settings.Epsilon, r.tau, nil
		}
	}
	return 0, 0, nil
}

// lastWithin returns the greatest --last-at-least of those tried below that of the settings with
// which some key is released, and its threshold; 0 where none is. A lower value lowers the
// threshold, but pays for fewer windows of a user.
func (e *explaining) lastWithin() (n int, tau float64, err error) {
	best, _, err := e.greatest(0, e.LastAtLeast-1, func(s *Settings, n int) { s.LastAtLeast = n })
	return best.value, best.tau, err
}
