package event

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/wallclock"
)

// TimeText is the unit of times that are texts in one of the usual layouts, or in
// Format.TimeLayout.
const TimeText = "text"

// timeUnits are the units of time of formats. Those from onlyTexts are for formats without schemas.
var timeUnits = []string{"s", "ms", "us", "ns", "rfc3339", TimeText, "min", "h", "d", "excel", "filetime"}

const onlyTexts = 6

// TimeUnits returns the possible units of time.
func TimeUnits() []string { return slices.Clone(timeUnits) }

// space matches the spaces of a layout, also the non-breaking ones of Excel and JavaScript.
const space = `[ \t\x{a0}\x{202f}]`

// directives are the characters after % in a layout, as in strptime, as regular expressions. The
// groups are named as in timeLayout.
var directives = map[byte]string{
	'Y': `(?<2006>\d{4})`,
	'y': `(?<06>\d\d)`,
	'm': `(?<1>\d\d?)`,
	'b': `(?i:(?<Jan>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|` +
		`sep(?:tember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?))`,
	'd': space + `*(?<2>\d\d?)`,
	'j': `(?<002>\d{3})`,
	'a': `(?i:(?:mon|tues|wednes|thurs|fri|satur|sun)day|mon|tue|wed|thu|fri|sat|sun)`,
	'H': `(?<15>\d\d?)`,
	'I': `(?<3>\d\d?)`,
	'M': `(?<4>\d\d?)`,
	'S': `(?<5>\d\d?)`,
	'f': `(?<fraction>\d+)`,
	'p': `(?i:(?<PM>[ap]m))`,
	'z': `(?:(?<zone>(?i:UTC|UT|Z|GMT|(?:GMT)?[+-]\d\d(?::?\d\d)?)|[A-Z]+))`,
	'%': `%`,
}

// synonyms replaces directives that stand for others.
var synonyms = strings.NewReplacer("%%", "%%", "%F", "%Y-%m-%d", "%T", "%H:%M:%S", "%R", "%H:%M", "%D", "%m/%d/%y",
	"%e", "%d", "%B", "%b", "%A", "%a", "%Z", "%z")

// usualLayouts are the layouts that programs usually write; no text fits two of them. In a date of
// digits only, the day precedes the month only with dots, which no country that writes the month
// first uses.
var usualLayouts = func() (layouts []timeLayout) {
	const (
		clock   = `%H:(?<4>\d\d)(?::(?<5>\d\d)(?:[.,]%f)?)?`
		zone    = `(?: *%z(?: +(?:\(.*\)|[A-Z]+))?)?` // Go and JavaScript append a name to an offset
		tail    = `(?:(?:[Tt]| +)` + clock + zone + `)?`
		between = `(?:-| +)`
	)
	for _, text := range [...]string{
		`%Y-%m-%d` + tail,
		`%Y/%m/%d` + tail,
		`%Y(?<1>\d\d)(?<2>\d\d)` + tail,
		`%Y(?<1>\d\d)(?<2>\d\d)T?(?<15>\d\d)(?<4>\d\d)(?<5>\d\d)(?:\.%f)?` + zone,
		`%d\.%m\.%Y` + tail,
		`(?:%a, +)?%d` + between + `%b` + between + `%Y(?: +` + clock + zone + `)?`, // mail
		`%a +%b +%d +` + clock + `(?: +%z)? +%Y`,                                    // ctime
		`%a +%b +%d +%Y +` + clock + zone,                                           // JavaScript
		`%d/%b/%Y:` + clock + zone,                                                  // Apache
	} {
		pattern := directive.ReplaceAllStringFunc(strings.ReplaceAll(text, " ", space), func(part string) string {
			return directives[part[1]]
		})
		layouts = append(layouts, timeLayout{Regexp: regexp.MustCompile(`^` + pattern + `$`)})
	}
	return layouts
}()

var directive = regexp.MustCompile(`%\w`)

// adjacent makes a number before another one have all its digits: otherwise the clock 0230, which
// lacks the seconds, would be 0:23:0.
var adjacent = strings.NewReplacer(`\d?)(?<`, `\d)(?<`, `\d?)`+space+`*`, `\d)`+space+`*`)

var layoutPart = regexp.MustCompile(`%\{\d{4}\}|(?s:%.?)| +|[^% ]+`)

// parseLayout compiles a layout. Without a day, a time is on the first of the month; without a
// month, in January. A space matches one or more spaces.
func parseLayout(text string) (layout timeLayout, err error) {
	used := ""
	pattern := layoutPart.ReplaceAllStringFunc(synonyms.Replace(strings.TrimSpace(text)), func(part string) string {
		switch {
		case part[0] == ' ':
			return space + "+"
		case part[0] != '%':
			return regexp.QuoteMeta(part)
		case part == "%":
			err = cmp.Or(err, errors.New("it ends with a %; write %% for the sign itself"))
			return ""
		}
		name, pattern := part[1], directives[part[1]]
		if len(part) > len("%{") {
			layout.year = part[2:6]
			name, pattern = 'Y', "()"
		}
		switch {
		case pattern == "":
			err = cmp.Or(err, fmt.Errorf("%%%c is not one of its parts: %s", name, layoutParts))
		case name != '%' && strings.IndexByte(used, name) >= 0:
			err = cmp.Or(err, fmt.Errorf("%%%c is in it twice", name))
		}
		used += string(name)
		return pattern
	})
	has := func(names string) bool { return strings.ContainsAny(used, names) }
	switch {
	case err != nil:
		return layout, err
	case !has("Yy"):
		return layout, errors.New("it must be a layout with a year (%Y), for example %d.%m.%Y %H:%M:%S, or %Y-%m for " +
			"months, or %Y for years; %{2025} stands for a year that the times lack")
	case has("d") && !has("mb"):
		return layout, errors.New("it has a day, but no month (%m or %b)")
	case has("j") && has("dmb"):
		return layout, errors.New("a date is of a month, or the day of a year (%Y-%j)")
	case has("HI") && !has("dj"):
		return layout, errors.New("it has an hour, but no day (%d)")
	case has("I") != has("p"):
		return layout, errors.New("%I, an hour of 12, and %p, AM or PM, go together; an hour of 24 is %H")
	case has("f") && !strings.Contains(used, "Sf"):
		return layout, errors.New("%f, the fraction of a second, must follow the second (%S)")
	}
	layout.Regexp, err = regexp.Compile(`^` + adjacent.Replace(pattern) + `$`)
	return layout, err
}

// layoutParts lists the directives in texts.
const layoutParts = "%Y %y %m %b %B %d %e %j %a %A %H %I %p %M %S %f %z %Z, %F for %Y-%m-%d, %T for %H:%M:%S, " +
	"%{2025} for a year that the times lack, %% for the sign itself"

// IsTime reports whether a text is a time in a usual layout or in the given one, which may be "".
func IsTime(text, layout string) bool {
	layouts := slices.Clone(usualLayouts)
	if parsed, err := parseLayout(layout); err == nil {
		layouts = append(layouts, parsed)
	}
	_, ok := parseTimeText([]byte(text), layouts, nil)
	return ok
}

// OnlyDates reports whether times of a layout have neither an hour nor an offset from UTC. It is
// false for "", which means several layouts.
func OnlyDates(layout string) bool {
	layout = strings.ReplaceAll(synonyms.Replace(layout), "%%", "")
	return layout != "" && !timeOfDayOrOffset.MatchString(layout)
}

var timeOfDayOrOffset = regexp.MustCompile("%[HIz]")

// CheckLayout returns an error for an invalid Format.TimeLayout.
func CheckLayout(text string) error {
	_, err := parseLayout(text)
	return err
}

// CheckZone returns an error for an invalid Format.TimeZone.
func CheckZone(name string) error {
	_, err := wallclock.Load(name)
	return err //nolint:wrapcheck // a whole sentence
}
