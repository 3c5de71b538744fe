// Package stored is the binary form of filters, odometers and accounts at rest: two bytes, kind and
// version, and then the fields of the type in the order in which its layout names them. Integers
// are big-endian and of a fixed size, a float64 is its bits, a list begins with its length.
//
// A type that can be stored embeds a Value of its state, which has MarshalBinary and
// UnmarshalBinary, once for all types; the state has a Layout. One layout serves for writing and
// for reading, so that both cannot disagree. Its fields are of two kinds: parameters, fixed when
// a value is made (a budget, orders), and progress (what is spent and reserved), whose bytes are
// all 0 where nothing has happened.
//
// # Guarantees
//
//   - A value has one form only. Any other is refused with an error that names the reason, and
//     leaves the receiver as it was.
//   - A state is read into a zero value, or into a value of the same parameters of which nothing is
//     used: reading never forgets what was spent, and never changes a budget that was chosen.
//   - What is allocated for a state is at most a small multiple of its bytes.
//
// # What it does not do
//
// It cannot know whether a state is the last that was stored: an older one has more left. There is
// no checksum: damage that leaves a possible state is not seen.
package stored
