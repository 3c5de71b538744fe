package input

import "bytes"

// verdict is what the quotes of a record say after one more line.
type verdict int

const (
	complete  verdict = iota // the record ends with this line
	open                     // a quoted field goes on in the next line
	malformed                // a quote where none may be
)

// quotes follows the quoting of one CSV record over its lines by the rules of
// RFC 4180, as encoding/csv applies them: a quote opens a field only as its
// first byte, is doubled inside, and closes it only before a comma or the end.
type quotes struct{ inside bool }

func (q *quotes) feed(text []byte) verdict {
	for {
		if q.inside {
			i := bytes.IndexByte(text, '"')
			if i < 0 {
				return open
			}
			text = text[i+1:]
			switch {
			case len(text) == 0:
				q.inside = false
				return complete
			case text[0] == '"':
				text = text[1:]
				continue
			case text[0] != ',':
				return malformed
			}
			q.inside = false
			text = text[1:]
		}
		if len(text) > 0 && text[0] == '"' {
			q.inside = true
			text = text[1:]
			continue
		}
		end := bytes.IndexByte(text, ',')
		field := text
		if end >= 0 {
			field = text[:end]
		}
		if bytes.IndexByte(field, '"') >= 0 {
			return malformed
		}
		if end < 0 {
			return complete
		}
		text = text[end+1:]
	}
}
