package event

import "encoding/binary"

// NoUserEach is the Format.NoUser that makes every record without a user a separate user.
const NoUserEach = "each"

// unnamedPlace is added to where the user is found.
const unnamedPlace = ", else the position of the record"

// lacksUser reports whether the class of a fault is that a record has no user, if the format allows
// that.
func (d *Decoder) lacksUser(field int, class string) bool {
	return d.unnamed && field == fieldUser && (class == ClassMissingField || class == ClassNullField)
}

// Namer names the users of events for code that knows users by their ids. The zero Namer is ready
// for use. Not for concurrent use.
type Namer struct{ id []byte }

// Name gives the event an id of its user that no other user has, for as long as Decode's results
// are valid and Name is not called again. position is unique to the record; it names a user of an
// event without one. format is the decoder's.
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
