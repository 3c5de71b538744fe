package reference

import "math/big"

// kept is an account between two turns: there are many, and a big.Int takes more room than a
// number.
type kept struct {
	spent   uint64
	buckets []keptBucket
}

type keptBucket struct {
	metric  int // by the metrics of all generations
	balance int64
	at      int64
}

// keep keeps an account until the next turn.
func (r *Replay) keep(p *people, o Owner, a Account) {
	delete(p.large, o)
	small := a.Spent.IsUint64()
	k := kept{buckets: make([]keptBucket, 0, len(a.Buckets))}
	for name, b := range a.Buckets {
		small = small && b.Balance.IsInt64()
		k.buckets = append(k.buckets, keptBucket{r.position[name], b.Balance.Int64(), b.At})
	}
	if k.spent = a.Spent.Uint64(); !small {
		p.large[o] = a.clone()
	}
	p.accounts[o] = k
}

// account returns the account of an individual, for the caller to change.
func (r *Replay) account(p *people, o Owner) Account {
	k, known := p.accounts[o]
	if !known {
		return newAccount()
	}
	if a, large := p.large[o]; large {
		return a.clone()
	}
	a := Account{bigOf(k.spent), make(map[string]Bucket, len(k.buckets))}
	for _, b := range k.buckets {
		a.Buckets[r.names[b.metric]] = Bucket{big.NewInt(b.balance), b.at}
	}
	return a
}

// Account returns what an individual has lost, as far as turns are charged.
func (r *Replay) Account(o Owner) (Account, bool) {
	p := r.people[r.partOf(o)]
	_, known := p.accounts[o]
	return r.account(p, o), known
}

// Owners calls yield for everybody whose account is not zero.
func (r *Replay) Owners(yield func(Owner) bool) {
	for _, p := range r.people {
		for owner := range p.accounts {
			if !yield(owner) {
				return
			}
		}
	}
}

// SetAccount replaces an account.
func (r *Replay) SetAccount(o Owner, a Account) { r.keep(r.people[r.partOf(o)], o, a) }
