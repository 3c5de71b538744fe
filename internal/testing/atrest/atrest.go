package atrest

import (
	"bytes"
	"encoding"
	"encoding/gob"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/golden"
	"github.com/tollgate-dp/tollgate/state/accounts"
)

// Value is what can be stored and resumed: a pointer.
type Value interface {
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}

// Subject is a type of state.
type Subject struct {
	Name  string
	Fresh func() Value         // of certain parameters, with nothing spent
	Use   func(Value)          // spends some of it
	Zero  func() Value         // that a state is read into with its own parameters; nil if there is no such value
	Sound func(v Value) string // what is wrong with a state that was read into Fresh; nil for nothing to check
}

// Zero returns a function that makes zero values of the type that v points to.
func Zero(v Value) func() Value {
	t := reflect.TypeOf(v).Elem()
	return func() Value { return reflect.New(t).Interface().(Value) }
}

func (s Subject) used() Value {
	v := s.Fresh()
	s.Use(v)
	return v
}

// receivers are values that a state of the subject is read into.
func (s Subject) receivers() []Value {
	list := []Value{s.Fresh()}
	if s.Zero != nil {
		list = append(list, s.Zero())
	}
	return list
}

func bytesOf(t testing.TB, v Value) []byte {
	t.Helper()
	b, err := v.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Check fails the test unless the subject keeps to the rules. Its golden file is
// testdata/stored/NAME.golden.
func Check(t *testing.T, s Subject) {
	fresh, used := bytesOf(t, s.Fresh()), bytesOf(t, s.used())
	if bytes.Equal(fresh, used) {
		t.Fatal("the state does not tell what was spent")
	}
	path := filepath.Join("testdata", "stored", s.Name+".golden")
	golden.File(t, path, fmt.Sprintf("fresh %x\nused %x\n", fresh, used))
	for _, b := range [][]byte{fresh, used, kept(t, path)} {
		for _, v := range s.receivers() {
			if err := v.UnmarshalBinary(b); err != nil {
				t.Errorf("%x: %v", b, err)
			} else if again := bytesOf(t, v); !bytes.Equal(again, b) {
				t.Errorf("%x came back as %x", b, again)
			}
		}
	}
	s.checkDamage(t, used)
	s.checkUsed(t, fresh, used)
	s.checkEncodings(t, used)
}

// kept is the last state of a golden file: reading the file keeps old states readable.
func kept(t *testing.T, path string) []byte {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(text))
	b, err := hex.DecodeString(fields[len(fields)-1])
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// checkDamage reads bytes that are no state of the subject.
func (s Subject) checkDamage(t *testing.T, used []byte) {
	damaged := map[string][]byte{"another kind": append([]byte{used[0] ^ 0x40}, used[1:]...)}
	for n := range used {
		damaged[fmt.Sprintf("cut to %d bytes", n)] = used[:n]
	}
	for _, version := range []byte{0, used[1] + 1, 255} {
		damaged[fmt.Sprintf("version %d", version)] = append([]byte{used[0], version}, used[2:]...)
	}
	for name, b := range damaged {
		s.refuses(t, name, b, "")
	}
	s.refuses(t, "one byte more", append(bytes.Clone(used), 0), "1 bytes left over")
	s.refuses(t, "twice", append(bytes.Clone(used), used...), "left over")
	for i := range used {
		for _, mask := range []byte{1, 0x80, 0xff} {
			b := bytes.Clone(used)
			b[i] ^= mask
			s.take(t, b)
		}
	}
}

func (s Subject) refuses(t *testing.T, name string, b []byte, reason string) {
	for _, v := range s.receivers() {
		before, _ := v.MarshalBinary() // a zero value has none
		err := v.UnmarshalBinary(b)
		if err == nil {
			t.Errorf("%s: it was read", name)
			continue
		}
		var told *accounts.DecodeError
		if !errors.As(err, &told) || !strings.HasPrefix(err.Error(), "decoding ") {
			t.Errorf("%s: %q is no DecodeError that says what was read", name, err)
		}
		if !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: %q does not say %q", name, err, reason)
		}
		if after, _ := v.MarshalBinary(); !bytes.Equal(before, after) {
			t.Errorf("%s: the receiver has changed", name)
		}
	}
}

// take reads any bytes: what is read has one form, and is sound.
func (s Subject) take(t testing.TB, b []byte) {
	for _, v := range s.receivers() {
		if v.UnmarshalBinary(b) != nil {
			continue
		}
		if again := bytesOf(t, v); !bytes.Equal(again, b) {
			t.Errorf("%s: %x was read as %x", s.Name, b, again)
		}
	}
	v := s.Fresh()
	if s.Sound == nil || v.UnmarshalBinary(b) != nil {
		return
	}
	if wrong := s.Sound(v); wrong != "" {
		t.Errorf("%s: %x was read: %s", s.Name, b, wrong)
	}
}

// checkUsed reads a state over what was used: it would be forgotten.
func (s Subject) checkUsed(t *testing.T, fresh, used []byte) {
	for _, b := range [][]byte{fresh, used} {
		v := s.used()
		if err := v.UnmarshalBinary(b); err == nil || !strings.Contains(err.Error(), "has been used") {
			t.Errorf("a state was read over one that was used: %v", err)
		}
		if after := bytesOf(t, v); !bytes.Equal(after, used) {
			t.Errorf("a refused state left %x, and %x before", after, used)
		}
	}
}

// checkEncodings is about JSON, which is an error, and gob, which uses the binary form.
func (s Subject) checkEncodings(t *testing.T, used []byte) {
	v := s.used()
	for name, held := range map[string]any{
		"a pointer": v, "a value": reflect.ValueOf(v).Elem().Interface(), "in a map": map[string]any{"f": v},
	} {
		if b, err := json.Marshal(held); err == nil || !strings.Contains(err.Error(), "MarshalBinary") {
			t.Errorf("JSON of %s: %s, %v", name, b, err)
		}
	}
	for _, v := range s.receivers() {
		if err := json.Unmarshal([]byte("{}"), v); err == nil || !strings.Contains(err.Error(), "MarshalBinary") {
			t.Errorf("JSON was read: %v", err)
		}
	}
	for _, into := range s.receivers() {
		var b bytes.Buffer
		if err := gob.NewEncoder(&b).Encode(v); err != nil {
			t.Fatal(err)
		}
		if err := gob.NewDecoder(&b).Decode(into); err != nil {
			t.Fatal(err)
		}
		if after := bytesOf(t, into); !bytes.Equal(after, used) {
			t.Errorf("gob brought back %x of %x", after, used)
		}
	}
}

// Fuzz reads any bytes as states of all subjects.
func Fuzz(f *testing.F, subjects []Subject) {
	for _, s := range subjects {
		f.Add(bytesOf(f, s.Fresh()))
		f.Add(bytesOf(f, s.used()))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, s := range subjects {
			s.take(t, b)
		}
	})
}
