package changes

import (
	"slices"

	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/schemas"
)

// Succeed returns the header of the generation that follows h with the configuration of want. from
// is its first turn, sliceStart the start of that turn in Unix milliseconds, and last the CLOSE of
// the previous turn, or nil.
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
	if now := NewestKey(want); now.Fingerprint != NewestKey(h).Fingerprint {
		now.FromTurn = from
		next.NoiseKeys = append(next.NoiseKeys, now)
	}
	return next
}
