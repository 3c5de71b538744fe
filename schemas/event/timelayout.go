package event

import (
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

// directives are the characters after % in a layout, as in strptime.
var directives = map[byte]func(*wallClock) bool{
	'Y': func(c *wallClock) bool { return c.number(&c.year, 4, 4) },
	'y': func(c *wallClock) bool { c.pivot = true; return c.number(&c.year, 2, 2) },
	'm': func(c *wallClock) bool { return c.number(&c.month, 1, 2) },
	'd': (*wallClock).dayOfMonth,
	'e': (*wallClock).dayOfMonth,
	'j': func(c *wallClock) bool { return c.number(&c.yearDay, 3, 3) && c.yearDay > 0 },
	'b': (*wallClock).monthName,
	'B': (*wallClock).monthName,
	'a': (*wallClock).weekday,
	'A': (*wallClock).weekday,
	'H': func(c *wallClock) bool { return c.number(&c.hour, 1, 2) },
	'I': func(c *wallClock) bool { return c.number(&c.hour, 1, 2) },
	'M': func(c *wallClock) bool { return c.number(&c.minute, 1, 2) },
	'S': func(c *wallClock) bool { return c.number(&c.second, 1, 2) },
	'f': (*wallClock).fraction,
	'p': (*wallClock).halfOfDay,
	'z': (*wallClock).zone,
	'Z': (*wallClock).zone,
	'%': func(c *wallClock) bool { return c.byte('%') },
}

// abbreviations expand to several directives.
var abbreviations = strings.NewReplacer("%%", "%%", "%F", "%Y-%m-%d", "%T", "%H:%M:%S", "%R", "%H:%M", "%D", "%m/%d/%y")

func (c *wallClock) dayOfMonth() bool { c.spaces(); return c.number(&c.day, 1, 2) }
func (c *wallClock) weekday() bool    { return c.name(weekdays[:], new(int)) }

func (c *wallClock) halfOfDay() bool {
	if len(c.b)-c.pos < 2 || c.b[c.pos+1]|0x20 != 'm' {
		return false
	}
	c.half = c.b[c.pos] | 0x20
	c.pos += 2
	return c.half == 'a' || c.half == 'p'
}

// timeLayout reads a time part by part.
type timeLayout []func(*wallClock) bool

// parseLayout compiles a layout. Without a day, a time is on the first of the month; without a
// month, in January. A space matches one or more spaces, or none before a directive that can begin
// with one.
func parseLayout(text string) (layout timeLayout, err error) {
	const years, months, days, hours = "Yy", "mbB", "de", "HI"
	text = abbreviations.Replace(strings.TrimSpace(text))
	used := map[byte]bool{}
	for i := 0; i < len(text); i++ {
		literal := text[i]
		switch {
		case literal == ' ':
			layout = append(layout, (*wallClock).spaces)
			continue
		case literal != '%':
			layout = append(layout, func(c *wallClock) bool { return c.byte(literal) })
			continue
		}
		if i++; i == len(text) {
			return nil, errors.New("it ends with a %; write %% for the sign itself")
		}
		read, name := directives[text[i]], text[i]
		if year := (wallClock{b: []byte(text[i:])}); year.byte('{') && year.number(&year.year, 4, 4) && year.byte('}') {
			read, name = func(c *wallClock) bool { c.year = year.year; return true }, 'Y'
			i += year.pos - 1
		}
		switch {
		case read == nil:
			return nil, fmt.Errorf("%%%c is not one of its parts: %s", name, layoutParts)
		case used[name] && name != '%':
			return nil, fmt.Errorf("%%%c is in it twice", name)
		default:
			used[name] = true
		}
		layout = append(layout, read)
	}
	has := func(names string) bool {
		return slices.ContainsFunc([]byte(names), func(name byte) bool { return used[name] })
	}
	switch {
	case !has(years):
		return nil, errors.New("it must be a layout with a year (%Y), for example %d.%m.%Y %H:%M:%S, or %Y-%m for " +
			"months, or %Y for years; %{2025} stands for a year that the times lack")
	case has(days) && !has(months):
		return nil, errors.New("it has a day, but no month (%m or %b)")
	case used['j'] && (has(days) || has(months)):
		return nil, errors.New("a date is of a month, or the day of a year (%Y-%j)")
	case has(hours) && !has(days) && !used['j']:
		return nil, errors.New("it has an hour, but no day (%d)")
	case used['I'] != used['p']:
		return nil, errors.New("%I, an hour of 12, and %p, AM or PM, go together; an hour of 24 is %H")
	}
	return layout, nil
}

// layoutParts lists the directives in texts.
const layoutParts = "%Y %y %m %b %B %d %e %j %a %A %H %I %p %M %S %f %z %Z, %F for %Y-%m-%d, %T for %H:%M:%S, " +
	"%{2025} for a year that the times lack, %% for the sign itself"

// read reads a whole text.
func (l timeLayout) read(c *wallClock) bool {
	for _, part := range l {
		if !part(c) {
			return false
		}
	}
	return c.end()
}

// IsTime reports whether a text is a time in a usual layout or in the given one, which may be "".
func IsTime(text, layout string) bool {
	var c wallClock
	if c.start([]byte(text)); c.readUsual() {
		return true
	}
	parsed, err := parseLayout(layout)
	c.start([]byte(text))
	return err == nil && parsed.read(&c)
}

// OnlyDates reports whether times of a layout have neither an hour nor an offset from UTC. It is
// false for "", which means several layouts.
func OnlyDates(layout string) bool {
	layout = strings.ReplaceAll(abbreviations.Replace(layout), "%%", "")
	return layout != "" && !timeOfDayOrOffset.MatchString(layout)
}

var timeOfDayOrOffset = regexp.MustCompile("%[HIzZ]")

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
