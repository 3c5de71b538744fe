package event

import "encoding/binary"

// NoUserEach is the Format.NoUser with which every record without a user counts as a separate user.
const NoUserEach = "each"

// unnamedPlace is appended to the user's place.
const unnamedPlace = ", else the position of the record"

// lacksUser reports whether a fault is a missing user that the format allows.
func (d *Decoder) lacksUser(field int, class string) bool {
	return d.unnamed && field == fieldUser && (class == ClassMissingField || class == ClassNullField)
}

// Namer gives events unique user ids. The zero Namer is ready for use. Not for concurrent use.
type Namer struct{ id []byte }

// Name sets the event's user to an id that no other user has, valid until the next call of Name or
// Decode. position is unique to the record and identifies the user of an event without one; format
// must be the decoder's.
func (n *Namer) Name(e *Event, format *Format, position uint64) {
	if format.NoUser != NoUserEach {
		return
	}
	if len(e.User) > 0 {
		n.id = append(append(n.id[:0], 'u'), e.User...)
	} else {
		n.id = binary.BigEndian.AppendUint64(append(n.id[:0], 'p'), position)
	}
	e.User = n.id
}
