package reference

import (
	"bytes"
	"slices"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state"
)

// Clip bounds one user's slice of one (metric, window): the keys of least rank stay, each with at most so many events. It
// returns what stays and the number of events that do not.
func Clip(h *schemas.Hasher, spec schemas.MetricSpec, id state.AccountID, slice map[string]uint64) (map[string]uint64, uint64) {
	type ranked struct {
		key  string
		rank [16]byte
	}
	var keys []ranked
	for key := range slice {
		keys = append(keys, ranked{key, h.ClipRank(spec.Name, id, 0, []byte(key))})
	}
	slices.SortFunc(keys, func(a, b ranked) int {
		if order := bytes.Compare(a.rank[:], b.rank[:]); order != 0 {
			return order
		}
		return bytes.Compare([]byte(a.key), []byte(b.key))
	})
	kept, clipped := map[string]uint64{}, uint64(0)
	for i, k := range keys {
		n := slice[k.key]
		if i >= int(spec.MaxKeysPerUser) {
			clipped += n
			continue
		}
		kept[k.key] = min(n, uint64(spec.MaxEventsPerKey))
		clipped += n - kept[k.key]
	}
	return kept, clipped
}
