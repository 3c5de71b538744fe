package audit

import (
	"encoding/hex"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/audit/reference"
)

// Report is the result of an audit. It is confidential: only the trusted side may see it.
type Report struct {
	Deployment  string       `json:"deployment"`
	Incarnation string       `json:"incarnation"`
	Generations int          `json:"generations"`
	Turns       uint64       `json:"turns"`     // settled turns
	Values      int          `json:"values"`    // published values that were recomputed
	Snapshots   int          `json:"snapshots"` // snapshots of accounts that were compared
	Differs     int          `json:"differs"`   // all differences; at most maxDifferences are listed
	Differences []Difference `json:"differences"`
	Unchecked   []Unchecked  `json:"unchecked"`

	Tallies reference.Tallies `json:"-"` // of the records that were read, without noise

	mu sync.Mutex
}

// Difference describes one place where a topic differs from the recomputed data. Every field except
// What is its zero value if it does not apply.
type Difference struct {
	Turn   uint64     `json:"turn,omitempty"`
	What   string     `json:"what"`
	Metric string     `json:"metric,omitempty"`
	Window *time.Time `json:"window,omitempty"` // start of the window
	User   string     `json:"user,omitempty"`   // first digits of the user's keyed hash
	Key    *string    `json:"key,omitempty"`    // set only if the key was released
}

// Unchecked is a part of the deployment that could not be recomputed.
type Unchecked struct {
	From uint64 `json:"from_turn,omitempty"`
	To   uint64 `json:"to_turn,omitempty"`
	What string `json:"what"`
}

// maxDifferences is the maximum number of differences that a report lists.
const maxDifferences = 100

// Whole reports whether everything was checked and nothing differs.
func (r *Report) Whole() bool { return r.Differs == 0 && len(r.Unchecked) == 0 }

func (r *Report) differ(d Difference) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Differs++; len(r.Differences) < maxDifferences {
		r.Differences = append(r.Differences, d)
	}
}

// skip records that part of a turn cannot be checked. Consecutive turns with one cause share an
// entry.
func (r *Report) skip(turn uint64, format string, args ...any) {
	what := fmt.Sprintf(format, args...)
	i := slices.IndexFunc(r.Unchecked, func(u Unchecked) bool {
		return u.What == what && (u.To == turn || u.To+1 == turn)
	})
	if i < 0 {
		r.Unchecked = append(r.Unchecked, Unchecked{turn, turn, what})
		return
	}
	r.Unchecked[i].To = turn
}

// userOf returns the first digits of the keyed hash of a user.
func userOf(o reference.Owner) string { return hex.EncodeToString(o.ID[:5]) }
