package spend

import (
	"fmt"
	"slices"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/budgets"
)

// Person is one user of one metric, window after window, admitted by the code of a run, for
// forecasts of counts. Its reservations are charged in full. Not for concurrent use.
type Person struct {
	rules *Rules
	m     *metric
	clip  *clipper
	purse Purse
	slice contributions
	taken []bool
	user  schemas.ContribUser
	parts []Part
}

// Part is a user's contribution to the count of a key.
type Part struct {
	Key     uint32 // index into the keys of Begin
	Total   int64
	Further []int64 // the user's parts of the further components that are sums
}

// NewPerson returns a user of the metric with this name.
func NewPerson(b budgets.Budget, metrics []schemas.MetricSpec, name string) (*Person, error) {
	r, err := NewRules(b, [32]byte{1}, metrics, 1, 1, minLedgerSlots)
	if err != nil {
		return nil, err
	}
	metric := slices.IndexFunc(metrics, func(m schemas.MetricSpec) bool { return m.Name == name })
	if metric < 0 {
		return nil, fmt.Errorf("preparing a forecast: there is no metric %s", name)
	}
	p := &Person{rules: r, m: &r.metrics[metric], clip: newClipper(r)}
	p.clip.ranks = map[uint32][16]byte{}
	return p, nil
}

// Begin starts another user with these keys and no contribution yet.
func (p *Person) Begin(id accounts.ID, keys [][]byte) {
	p.purse = Purse{}
	p.user = schemas.ContribUser{ID: id}
	p.slice.keys, p.slice.keyOf, p.taken = keys, p.slice.keyOf[:0], p.taken[:0]
	for i := range keys {
		p.slice.keyOf, p.taken = append(p.slice.keyOf, uint32(i)), append(p.taken, true)
	}
	clear(p.clip.ranks)
}

// Window returns the counted part of the user's events in a window that ends when elapsed
// milliseconds of the horizon are over. Entries ascend by key, and so do records, which metrics
// with values need. Windows are passed in the order of their ends. The result is valid until the
// next call.
func (p *Person) Window(elapsed int64, entries []schemas.KeyCount, records []schemas.RecordValue) ([]Part, error) {
	left := p.purse.Left(p.rules.Budget, &p.m.allowance, elapsed)
	p.user.Entries, p.user.Records = entries, records
	kept, _, err := p.clip.clipUser(p.m, &p.slice, p.taken, &p.user, left)
	if err != nil || len(kept) == 0 {
		return nil, err
	}
	worst, ok := p.rules.price(p.m, kept, p.clip.further, p.clip.leaves)
	if !ok || worst > left {
		return nil, nil
	}
	if err := p.purse.Pay(p.rules.Budget, &p.m.allowance, elapsed, worst); err != nil {
		return nil, err
	}
	p.parts = p.parts[:0]
	n := len(p.m.further)
	for i, k := range kept {
		p.parts = append(p.parts, Part{k.key, k.total, p.clip.further[i*n : (i+1)*n]})
	}
	return p.parts, nil
}
