package plain

import (
	"errors"
	"math"
	"reflect"
	"testing"

	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/units"
)

func TestAUserComesBackFromState(t *testing.T) {
	id := accounts.ID{1}
	for _, u := range []user{
		{account: accounts.Entry{ID: id}, decidedTo: math.MinInt64},
		{decidedTo: 10, account: accounts.Entry{ID: id, Account: accounts.Account{Spent: 7}, Debts: []units.Mu2{0, 5}}},
		{decidedTo: -5, account: accounts.Entry{ID: id, Account: accounts.Account{Spent: 1}},
			waiting: []slice{{end: 20, keys: []keyCount{{"", 1}, {"a", 4}}},
				{end: 30, keys: []keyCount{{"b", math.MaxUint32}}}}},
	} {
		b, err := u.encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := decodeUser(id, b)
		if err != nil || !reflect.DeepEqual(back, u) {
			t.Errorf("%+v came back as %+v, %v", u, back, err)
		}
		if _, err := decodeUser(accounts.ID{2}, b); !u.account.Account.IsZero() && !errors.Is(err, ErrMalformed) {
			t.Error("another user's account was taken:", err)
		}
		for n := range b {
			if _, err := decodeUser(id, b[:n]); n > 0 && !errors.Is(err, ErrMalformed) {
				t.Errorf("%d of %d bytes: %v", n, len(b), err)
			}
		}
	}
}

func TestADecidedWindowIsNotDecidedAgain(t *testing.T) {
	u := user{decidedTo: 20}
	for _, s := range []slice{{end: 30, keys: []keyCount{{"b", 1}}}, {end: 20, keys: []keyCount{{"a", 1}}}, {end: 10},
		{end: 30, keys: []keyCount{{"a", 2}, {"b", 3}}}, {end: 25}} {
		u.wait(s)
	}
	want := []slice{{end: 25}, {end: 30, keys: []keyCount{{"a", 2}, {"b", 4}}}}
	if !reflect.DeepEqual(u.waiting, want) {
		t.Errorf("waiting %+v, want %+v", u.waiting, want)
	}
}

func FuzzDecodeUser(f *testing.F) {
	u := user{decidedTo: 3, account: accounts.Entry{ID: accounts.ID{1}, Account: accounts.Account{Spent: 9}},
		waiting: []slice{{end: 20, keys: []keyCount{{"a", 4}}}}}
	b, err := u.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		if u, err := decodeUser(accounts.ID{1}, b); err == nil {
			if _, err := u.encode(); err != nil {
				t.Fatal("decoded what cannot be encoded:", err)
			}
		} else if !errors.Is(err, ErrMalformed) {
			t.Fatal("untyped error:", err)
		}
		if _, err := decodeSlice(b); err != nil && !errors.Is(err, ErrMalformed) {
			t.Fatal("untyped error:", err)
		}
	})
}
