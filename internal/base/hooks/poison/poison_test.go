package poison

import (
	"bytes"
	"slices"
	"testing"
)

func TestMemoryIsOverwrittenUpToItsCapacityWherePoisonIsOn(t *testing.T) {
	for n := range 20 {
		b, want := make([]byte, n), make([]byte, n)
		numbers, wantNumbers := make([]int, n), make([]int, n)
		if On {
			want, wantNumbers = bytes.Repeat([]byte{0xDB}, n), slices.Repeat([]int{-1}, n)
		}
		Bytes(b[:n/2])
		Fill(numbers[:n/2], -1)
		if !bytes.Equal(b, want) || !slices.Equal(numbers, wantNumbers) {
			t.Errorf("of %d: %x and %d, want %x and %d", n, b, numbers, want, wantNumbers)
		}
	}
}
