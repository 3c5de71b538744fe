//go:build race || poison

package poison

// On reports whether this build overwrites memory.
const On = true

// Fill sets all items of s, up to its capacity, to value.
func Fill[T any](s []T, value T) {
	s = s[:cap(s)]
	if len(s) == 0 {
		return
	}
	s[0] = value
	for done := 1; done < len(s); done *= 2 {
		copy(s[done:], s[:done])
	}
}

// Bytes overwrites b, up to its capacity.
func Bytes(b []byte) { Fill(b, 0xDB) }
