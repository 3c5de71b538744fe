package stored

import "testing"

// Every kind has a name of its own: errors tell types apart by it.
func TestKindsHaveNames(t *testing.T) {
	seen := map[string]Kind{}
	for k := FilterBasic; k <= BucketFilter; k++ {
		name := k.String()
		if other, ok := seen[name]; ok || name == "" {
			t.Errorf("kinds %d and %d are both %q", other, k, name)
		}
		seen[name] = k
	}
	for _, k := range []Kind{0, BucketFilter + 1, 255} {
		if _, ok := seen[k.String()]; ok || k.String() == "" {
			t.Errorf("%d is %q", byte(k), k)
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
