package plain

import (
	"context"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// admitter admits the events of one user after another. It is not safe for concurrent use.
type admitter struct {
	size    int64 // length of a window
	from    int64 // start of the first window
	metrics []metric
	person  *spend.Person
	keys    [][]byte
	entries []schemas.KeyCount
}

func newAdmitter(s *Settings, secrets *Secrets) (*admitter, error) {
	metrics, err := s.compile()
	if err != nil {
		return nil, err
	}
	specs := make([]schemas.MetricSpec, len(metrics))
	for i := range metrics {
		specs[i] = metrics[i].spec
	}
	person, err := spend.NewPerson(s.Budget, secrets.UserHash.Reveal(), specs)
	if err != nil {
		return nil, err
	}
	return &admitter{size: s.span().size, from: s.span().from, metrics: metrics, person: person}, nil
}

// admitting is embedded in the DoFns that decide which events count.
type admitting struct {
	part

	admitter *admitter
}

// Setup opens the secrets and compiles the settings.
func (f *admitting) Setup(ctx context.Context) error {
	secrets, err := f.open(ctx)
	if err != nil {
		return err
	}
	f.admitter, err = newAdmitter(&f.Settings, secrets)
	return err
}

// idOf decodes a key of a user's elements, which is the user's account id.
func idOf(key []byte) (id accounts.ID, err error) {
	if len(key) != len(id) {
		return id, ErrMalformed
	}
	return accounts.ID(key), nil
}

// admit charges a user's account for one window, metric by metric, and emits what it admits.
func (a *admitter) admit(account *accounts.Entry, window slice, emit func(cell []byte, n int64)) error {
	a.keys = a.keys[:0]
	for _, k := range window.keys {
		a.keys = append(a.keys, []byte(k.key))
	}
	a.person.Begin(*account, a.keys)
	for i := range a.metrics {
		m := &a.metrics[i]
		a.entries = a.entries[:0]
		for key, k := range window.keys {
			if _, listed := m.public[k.key]; listed || m.public == nil {
				a.entries = append(a.entries, schemas.KeyCount{Key: uint32(key), N: k.n})
			}
		}
		parts, err := a.person.Window(i, window.end-a.from, a.entries, nil)
		if err != nil {
			return err
		}
		for _, part := range parts {
			emit(schemas.EncodeReleaseKey(m.spec.Name, window.end-a.size, a.keys[part.Key]), part.Total)
		}
	}
	*account = a.person.Account()
	return nil
}
