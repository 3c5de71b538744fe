package individual

import (
	"bytes"
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/tollgate-dp/tollgate/state/internal/stored"
)

type value[S any, P stored.Layout[S]] = stored.Value[S, P]

// same moves the state of what every user begins with: the budget.
func same(c *stored.Codec, fresh any) {
	own := c.State(fresh)
	begin := own
	if c.Parameters.Bytes(&begin); !bytes.Equal(begin, own) {
		c.Check(false, "its users have another budget or other parameters than those of the value that it is read into; make that with the same ones")
	}
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
