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

// TimeText is the unit of times that are text in one of the usual layouts, or in Format.TimeLayout.
const TimeText = "text"

// timeUnits are the values of Format.TimeUnit. Those at index firstSchemalessUnit and above
// are not for formats with schemas.
var timeUnits = []string{"s", "ms", "us", "ns", "rfc3339", TimeText, "min", "h", "d", "excel", "filetime"}

const firstSchemalessUnit = 6

// TimeUnits returns the possible values of Format.TimeUnit.
func TimeUnits() []string { return slices.Clone(timeUnits) }

// space matches a space in a time, including non-breaking ones, as Excel and JavaScript write.
const space = `[ \t\x{a0}\x{202f}]`

// directives maps the character after % in a layout, as in strptime, to a regular expression. For
// the names of the groups, see timeLayout.
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

// synonyms replaces directives that are abbreviations or synonyms of others.
var synonyms = strings.NewReplacer("%%", "%%", "%F", "%Y-%m-%d", "%T", "%H:%M:%S", "%R", "%H:%M", "%D", "%m/%d/%y",
	"%e", "%d", "%B", "%b", "%A", "%a", "%Z", "%z")

// usualLayouts are the layouts that programs usually write. No text matches two of them. A numeric
// date has the day before the month only if its separators are dots, because no country that writes
// the month first uses dots.
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

// adjacent requires all digits of a number that directly precedes another number. Otherwise a
// layout with seconds would parse 0230, which lacks them, as 0:23:0.
var adjacent = strings.NewReplacer(`\d?)(?<`, `\d)(?<`, `\d?)`+space+`*`, `\d)`+space+`*`)

var layoutPart = regexp.MustCompile(`%\{\d{4}\}|(?s:%.?)| +|[^% ]+`)

// parseLayout compiles a layout. A time is on the first of the month if the layout has no day, and
// in January if it has no month. A space matches one or more spaces.
func parseLayout(text string) (layout timeLayout, err error) {
	used := ""
	pattern := layoutPart.ReplaceAllStringFunc(synonyms.Replace(strings.TrimSpace(text)), func(part string) string {
		switch {
		case part[0] == ' ':
			return space + "+"
		case part[0] != '%':
			return regexp.QuoteMeta(part)
		case part == "%":
			err = cmp.Or(err, errors.New("it ends with a single %; write %% for a percent sign"))
			return ""
		}
		name, pattern := part[1], directives[part[1]]
		if len(part) > len("%{") {
			layout.year = part[2:6]
			name, pattern = 'Y', "()"
		}
		switch {
		case pattern == "":
			err = cmp.Or(err, fmt.Errorf("%%%c is not a directive; the directives are %s", name, layoutParts))
		case name != '%' && strings.IndexByte(used, name) >= 0:
			err = cmp.Or(err, fmt.Errorf("it contains %%%c twice", name))
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
			"months, or %Y for years; %{2025} is for times of 2025 without a year")
	case has("d") && !has("mb"):
		return layout, errors.New("it has a day, but no month (%m or %b)")
	case has("j") && has("dmb"):
		return layout, errors.New("a date needs a day of a month or a day of the year (%Y-%j), not both")
	case has("HI") && !has("dj"):
		return layout, errors.New("it has an hour, but no day (%d)")
	case has("I") != has("p"):
		return layout, errors.New("%I (hour, 1 to 12) and %p (AM or PM) require each other; %H is the hour, 0 to 23")
	case has("f") && !strings.Contains(used, "Sf"):
		return layout, errors.New("%f, the fraction of a second, must follow the second (%S)")
	}
	layout.Regexp, err = regexp.Compile(`^` + adjacent.Replace(pattern) + `$`)
	return layout, err
}

// layoutParts lists the directives in messages.
const layoutParts = "%Y %y %m %b %B %d %e %j %a %A %H %I %p %M %S %f %z %Z, %F for %Y-%m-%d, %T for %H:%M:%S, " +
	"%{2025} for times of 2025 without a year, %% for a percent sign"

// IsTime reports whether text is a time in one of the usual layouts or in layout, which may be "".
func IsTime(text, layout string) bool {
	layouts := slices.Clone(usualLayouts)
	if parsed, err := parseLayout(layout); err == nil {
		layouts = append(layouts, parsed)
	}
	_, ok := parseTimeText([]byte(text), layouts, nil)
	return ok
}

// OnlyDates reports whether times in a layout have neither an hour nor an offset from UTC. It
// returns false for "", which stands for the usual layouts.
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
