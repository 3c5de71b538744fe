package individual

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/internal/opaque"
	"github.com/tollgate-dp/tollgate/state/internal/stored"
)

// unreadable makes encoding/json an error: accounts have no JSON form.
type unreadable = opaque.State

// MarshalBinary returns budget and state; see "Storing and resuming" of package filter.
func (n *Norm) MarshalBinary() ([]byte, error) {
	return stored.Write(stored.IndividualNorm, n, (*Norm).layout)
}

// UnmarshalBinary resumes a stored state; see "Storing and resuming" of package filter.
func (n *Norm) UnmarshalBinary(data []byte) error {
	return stored.Read(stored.IndividualNorm, n, Norm{}, (*Norm).layout, data)
}

func (n *Norm) layout(c *stored.Codec) {
	c.Parameters.Uint((*uint64)(&n.budget))
	_, err := NewNorm(n.budget)
	c.Fail(err)
	c.Progress.Uint((*uint64)(&n.spent))
	c.Check(n.spent <= n.budget, "more is spent than the budget has")
}

// MarshalBinary returns policy, budget and every user's account, between two rounds; see "Storing
// and resuming" of the package. It depends on private data.
func (f *Filter[K, L]) MarshalBinary() ([]byte, error) {
	return stored.Write(stored.IndividualFilter, f, (*Filter[K, L]).layout)
}

// UnmarshalBinary resumes a stored state, into a Filter that New made of the same policy and
// budget; see "Storing and resuming" of the package.
func (f *Filter[K, L]) UnmarshalBinary(data []byte) error {
	if f.fresh == nil {
		return notMade(stored.IndividualFilter)
	}
	next := Filter[K, L]{policy: f.policy, fresh: f.fresh}
	return stored.Read(stored.IndividualFilter, f, next, (*Filter[K, L]).layout, data)
}

func notMade(kind stored.Kind) error {
	return &accounts.DecodeError{What: kind.String(), Reason: "a state is read into what its constructor made, with the same parameters"}
}

var (
	errNotMade  = errors.New("it was not made by its constructor")
	errOfOthers = errors.New("its users have another budget or other parameters than those of the value that it is read into; make that with the same ones")
)

func (f *Filter[K, L]) layout(c *stored.Codec) {
	if f.fresh == nil {
		c.Fail(errNotMade)
		return
	}
	policy := f.policy == ForGood
	c.Parameters.Flag(&policy)
	c.Check(policy == (f.policy == ForGood), "it has another policy than the value that it is read into")
	same(c, f.fresh)
	c.Progress.Uint(&f.round)
	layoutUsers(c, &f.accounts, func(a **account[L]) {
		if c.Reading() {
			*a = &account[L]{filter: f.fresh.Fresh()}
		}
		c.Progress.Flag(&(*a).out)
		c.Check(!(*a).out || f.policy == ForGood, "a user is out for good, which the policy does not know")
		c.Progress.Value((*a).filter)
	})
}

// same moves the state of what every user begins with: the budget.
func same(c *stored.Codec, fresh any) {
	own := c.State(fresh)
	begin := own
	if c.Parameters.Bytes(&begin); !bytes.Equal(begin, own) {
		c.Fail(errOfOthers)
	}
}

// MarshalBinary returns kappa, policy, norm budget and every user's account, between two answers;
// see "Storing and resuming" of the package. It depends on private data.
func (q *LinearQueries[K]) MarshalBinary() ([]byte, error) {
	return stored.Write(stored.IndividualLinearQueries, q, (*LinearQueries[K]).layout)
}

// UnmarshalBinary resumes a stored state, into what NewLinearQueries made with the same norm, kappa
// and policy; see "Storing and resuming" of the package.
func (q *LinearQueries[K]) UnmarshalBinary(data []byte) error {
	if q.users == nil {
		return notMade(stored.IndividualLinearQueries)
	}
	next := *q
	next.users = &Filter[K, SquaredNorm]{policy: q.users.policy, fresh: q.users.fresh}
	return stored.Read(stored.IndividualLinearQueries, q, next, (*LinearQueries[K]).layout, data)
}

func (q *LinearQueries[K]) layout(c *stored.Codec) {
	if q.users == nil {
		c.Fail(errNotMade)
		return
	}
	kappa := q.kappa
	c.Parameters.Float(&kappa)
	c.Check(kappa == q.kappa, "it has another kappa than the value that it is read into")
	q.users.layout(c)
}

// MarshalBinary returns every user's odometer, between two rounds; see "Storing and resuming" of
// the package. It depends on private data.
func (o *Odometers[K, L, B]) MarshalBinary() ([]byte, error) {
	return stored.Write(stored.IndividualOdometers, o, (*Odometers[K, L, B]).layout)
}

// UnmarshalBinary resumes a stored state, into Odometers that NewOdometers made of odometers with
// the same parameters; see "Storing and resuming" of the package.
func (o *Odometers[K, L, B]) UnmarshalBinary(data []byte) error {
	if o.fresh == nil {
		return notMade(stored.IndividualOdometers)
	}
	next := Odometers[K, L, B]{fresh: o.fresh, none: o.none}
	return stored.Read(stored.IndividualOdometers, o, next, (*Odometers[K, L, B]).layout, data)
}

func (o *Odometers[K, L, B]) layout(c *stored.Codec) {
	if o.fresh == nil {
		c.Fail(errNotMade)
		return
	}
	fresh, err := o.fresh()
	if c.Fail(err); c.Failed() {
		return
	}
	same(c, fresh)
	c.Progress.Uint(&o.round)
	layoutUsers(c, &o.users, func(r **reading[L, B]) {
		if c.Reading() {
			fresh, err := o.fresh()
			if c.Fail(err); c.Failed() {
				return
			}
			*r = &reading[L, B]{odometer: fresh}
		}
		c.Progress.Value((*r).odometer)
	})
}

// layoutUsers moves a map of users, in the order of the bytes of their keys. In which round a user
// was named last matters within that round only, and is not stored.
func layoutUsers[K comparable, V any](c *stored.Codec, users *map[K]V, each func(*V)) {
	n := len(*users)
	c.Progress.Length(&n, 4)
	if c.Reading() {
		*users = make(map[K]V)
		for i := range n {
			var name []byte
			var key K
			var v V
			c.Progress.Bytes(&name)
			if c.Failed() {
				return
			}
			c.Fail(readKey(&key, name))
			_, twice := (*users)[key]
			c.Check(!twice, "a user is there twice")
			each(&v)
			if c.Failed() {
				c.Where(fmt.Sprintf("user %d of %d", i, n))
				return
			}
			(*users)[key] = v
		}
		return
	}
	type named struct {
		name []byte
		v    V
	}
	list := make([]named, 0, n)
	for key, v := range *users {
		name, err := writeKey(key)
		c.Fail(err)
		list = append(list, named{name, v})
	}
	slices.SortFunc(list, func(a, b named) int { return bytes.Compare(a.name, b.name) })
	for i := range list {
		if c.Failed() {
			return
		}
		c.Check(i == 0 || !bytes.Equal(list[i].name, list[i-1].name), "two users have the same bytes as a key")
		c.Progress.Bytes(&list[i].name)
		each(&list[i].v)
	}
}

// writeKey returns the bytes of a key: those of a string or of an array of bytes, an integer as a
// decimal number, what has a MarshalBinary by that.
func writeKey[K comparable](key K) ([]byte, error) {
	if m, _, ok := binary(&key); ok {
		b, err := m.MarshalBinary()
		if err != nil {
			return nil, fmt.Errorf("storing a user's key: %w", err)
		}
		return b, nil
	}
	v := reflect.ValueOf(&key).Elem()
	switch {
	case v.Kind() == reflect.String:
		return []byte(v.String()), nil
	case v.CanInt():
		return strconv.AppendInt(nil, v.Int(), 10), nil
	case v.CanUint():
		return strconv.AppendUint(nil, v.Uint(), 10), nil
	case isBytes(v.Type()):
		return v.Bytes(), nil
	}
	return nil, fmt.Errorf("storing a user's key: a %T is no string, integer or array of bytes, and has no MarshalBinary with an UnmarshalBinary", key)
}

// readKey undoes writeKey. It may take more than one form of a key; stored.Read does not.
func readKey[K comparable](key *K, b []byte) error {
	if _, u, ok := binary(key); ok {
		return u.UnmarshalBinary(b)
	}
	v := reflect.ValueOf(key).Elem()
	switch {
	case v.Kind() == reflect.String:
		v.SetString(string(b))
		return nil
	case v.CanInt():
		if i, err := strconv.ParseInt(string(b), 10, v.Type().Bits()); err == nil {
			v.SetInt(i)
			return nil
		}
	case v.CanUint():
		if u, err := strconv.ParseUint(string(b), 10, v.Type().Bits()); err == nil {
			v.SetUint(u)
			return nil
		}
	case isBytes(v.Type()) && v.Len() == len(b):
		reflect.Copy(v, reflect.ValueOf(b))
		return nil
	}
	return fmt.Errorf("%d bytes are not a key of type %T", len(b), *key)
}

// binary returns key as what writes and reads its own bytes, if it does both.
func binary[K comparable](key *K) (encoding.BinaryMarshaler, encoding.BinaryUnmarshaler, bool) {
	m, writes := any(*key).(encoding.BinaryMarshaler)
	u, reads := any(key).(encoding.BinaryUnmarshaler)
	return m, u, writes && reads
}

func isBytes(t reflect.Type) bool {
	return t.Kind() == reflect.Array && t.Elem().Kind() == reflect.Uint8
}
