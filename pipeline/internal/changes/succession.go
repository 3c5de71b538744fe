package changes

import (
	"slices"

	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/schemas"
)

// Succeed returns the header of the generation that follows h with the configuration of want. Its
// first turn is from, which starts at sliceStart in Unix milliseconds. last is the CLOSE of the
// previous turn, or nil.
func Succeed(h, want *schemas.Header, from uint64, sliceStart int64, last *controllog.Closing) schemas.Header {
	next := *want
	next.Incarnation, next.StartMillis = h.Incarnation, h.StartMillis
	next.Generation, next.FromTurn, next.SliceStart = h.Generation+1, from, sliceStart
	before := h.AsPast()
	if last != nil {
		for _, c := range last.Cuts {
			before.Below = append(before.Below, schemas.Boundary{Partition: c.Partition, Offset: c.Cut})
		}
	}
	next.Past = append(slices.Clone(h.Past), before)
	if next.Before = h.Allowances(); from == h.FromTurn {
		next.Before = h.Before
	}
	next.NoiseKeys = slices.Clone(h.NoiseKeys)
	if newKey := NewestKey(want); newKey.Fingerprint != NewestKey(h).Fingerprint {
		newKey.FromTurn = from
		next.NoiseKeys = append(next.NoiseKeys, newKey)
	}
	return next
}
