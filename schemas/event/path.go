package event

import (
	"errors"
	"strconv"
	"strings"
)

// Errors in a field path.
var (
	errPathSegment = errors.New(`a name before or after a dot is empty (\. is a dot in a name)`)
	errPathEscape  = errors.New("a backslash must be followed by a dot, a bracket or another backslash")
	errPathItem    = errors.New(`brackets must enclose an item number, after a name and before a dot or the end, as ` +
		`in items[0].id (\[ is a bracket in a name)`)
)

// step leads from a value to one of its members or items.
type step struct {
	name string // name of a member
	item int    // index in a list, from 0; −1 for a member
}

func member(name string) step { return step{name, -1} }

func (s step) String() string {
	if s.item >= 0 {
		return "[" + strconv.Itoa(s.item) + "]"
	}
	return strconv.Quote(s.name)
}

// parsePath splits a field path: "user.id" is the member id of the record user, and "items[0]" is
// the first item of the list items. In a name, `\.` is a dot, `\[` a bracket and `\\` a backslash.
func parsePath(text string) ([]step, error) {
	var path []step
	var name strings.Builder
	named := true // whether the current position is in a name, or where a name must begin
	flush := func() bool {
		if named {
			path = append(path, member(name.String()))
		}
		empty := named && name.Len() == 0
		name.Reset()
		return !empty
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '.':
			if !flush() {
				return nil, errPathSegment
			}
			named = true
		case c == '[':
			if !flush() {
				return nil, errPathItem
			}
			digits := digitsAt([]byte(text[i+1:]))
			end := i + 1 + digits
			item, err := strconv.Atoi(text[i+1 : end])
			if err != nil || end == len(text) || text[end] != ']' {
				return nil, errPathItem
			}
			path, named, i = append(path, step{item: item}), false, end
		case !named:
			return nil, errPathItem
		case c == '\\':
			i++
			if i == len(text) || strings.IndexByte(`.[\`, text[i]) < 0 {
				return nil, errPathEscape
			}
			name.WriteByte(text[i])
		default:
			name.WriteByte(c)
		}
	}
	if !flush() {
		return nil, errPathSegment
	}
	return path, nil
}

// pathName escapes a member's name for use in a path.
var pathName = strings.NewReplacer(`\`, `\\`, `.`, `\.`, `[`, `\[`)
