package event

import (
	"errors"
	"strings"
)

// Errors of a field path.
var (
	errPathSegment = errors.New(`a name between its dots is empty (\. is a dot in a name)`)
	errPathEscape  = errors.New("a backslash must stand before a dot or another backslash")
)

// parsePath splits a field path at its dots: "user.id" is the member id of the record user. `\.` is
// a dot within a name, `\\` a backslash.
func parsePath(text string) ([]string, error) {
	var path []string
	var name strings.Builder
	flush := func() bool {
		path = append(path, name.String())
		empty := name.Len() == 0
		name.Reset()
		return !empty
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '\\':
			i++
			if i == len(text) || text[i] != '.' && text[i] != '\\' {
				return nil, errPathEscape
			}
			name.WriteByte(text[i])
		case '.':
			if !flush() {
				return nil, errPathSegment
			}
		default:
			name.WriteByte(c)
		}
	}
	if !flush() {
		return nil, errPathSegment
	}
	return path, nil
}
