package stored

import "testing"

// Every kind has a number and a name of its own: states and errors tell types apart by them.
func TestKindsAreToldApart(t *testing.T) {
	seen := map[Kind]bool{}
	for number := byte(1); int(number) < len(kinds); number++ {
		k := named(number)
		if kinds[number] == "" { // of a type that is gone
			continue
		}
		if seen[k] || k.number() != number {
			t.Errorf("%d is %q, which is %d", number, k, k.number())
		}
		seen[k] = true
	}
	for _, number := range []byte{0, byte(len(kinds)), 255} {
		if k := named(number); k == "" || k.number() != 0 {
			t.Errorf("%d is %q, a kind", number, k)
		}
	}
}

// A list never makes more room than the bytes that are there can fill.
func TestALengthIsOfWhatIsThere(t *testing.T) {
	for _, c := range []struct {
		data        []byte
		least, want int
		fails       bool
	}{
		{[]byte{0, 0, 0, 2, 7, 7}, 1, 2, false},
		{[]byte{0, 0, 0, 2, 7, 7}, 2, 0, true},
		{[]byte{255, 255, 255, 255, 7}, 1, 0, true},
		{[]byte{0, 0}, 1, 0, true},
	} {
		r := newCodec(true)
		r.data = c.data
		n := -1
		if r.Parameters.Length(&n, c.least); n != c.want || r.Failed() != c.fails {
			t.Errorf("%x: %d, %v", c.data, n, r.err)
		}
	}
}
