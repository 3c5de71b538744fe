package event

import "encoding/binary"

// NoUserEach is the Format.NoUser with which every record without a user is a separate user.
const NoUserEach = "each"

// unnamedPlace is appended to the description of the user's place in an Identity.
const unnamedPlace = ", else the position of the record"

// lacksUser reports whether a fault of a field is a missing user, which the format allows.
func (d *Decoder) lacksUser(field int, class string) bool {
	return d.allowNoUser && field == fieldUser && (class == ClassMissingField || class == ClassNullField)
}

// Namer gives every user a unique id, including the users of records without a user id. The zero
// Namer is ready for use. It is not safe for concurrent use.
type Namer struct{ id []byte }

// Name sets the event's user to an id that no other user has. The id is valid until the next call
// of Name or Decode. position must be unique to the record; it identifies the user if the event has
// none. format must be the decoder's format.
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
