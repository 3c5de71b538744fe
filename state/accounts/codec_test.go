package accounts

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/state/units"
)

// specimens cover every form of the encoding.
func specimens() []Entry {
	high := ID{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}
	return []Entry{
		{ID: ID{}, Period: 0, Account: Account{Spent: 1}},
		{ID: ID{}, Period: 5, Account: Account{Spent: 1 << 40}},
		{ID: ID{15: 1}, Period: -5, Account: Account{Spent: 1}, Debts: []units.Mu2{0, 300}},
		{ID: ID{7: 1}, Period: -5, Account: Account{Spent: units.MaxMu2}, Debts: []units.Mu2{units.MaxMu2}},
		{ID: ID{7: 2}, Period: 1<<63 - 1, Account: Account{Spent: 255}},
		{ID: high, Period: -1 << 63, Account: Account{Spent: 256}, Debts: []units.Mu2{1, 0, 2}},
	}
}

func shardOf(t testing.TB, entries []Entry) *Shard {
	t.Helper()
	s := NewShard()
	for i := len(entries) - 1; i >= 0; i-- {
		must.Have(0, s.Restore(entries[i]))
	}
	return s
}

func TestEncodingIsFixed(t *testing.T) {
	entries := specimens()[:3]
	got := encoded(t, shardOf(t, entries))
	want := []byte("A\x02\x03" +
		"\x10\x00\x00\x00\x00\x00\x00\x00\x00\x01" + // gap 0, Spent in 1 byte
		"\xef\x04\x0a\x01\x00\x00\x00\x00\x00" + // same id, period +5, Spent in 6 bytes
		"\x90\x05\x00\x00\x00\x00\x00\x00\x00\x01\x13\x01\x02\x00\xac\x02") // gap 0, period −10, two debts
	if !bytes.Equal(got, want) {
		t.Errorf("encoding is\n%x, want\n%x", got, want)
	}
}

func TestDecodersRefuseEveryCut(t *testing.T) {
	b := encoded(t, shardOf(t, specimens()))
	for n := range b {
		var d *DecodeError
		if _, _, err := Decode(b[:n]); !errors.As(err, &d) {
			t.Errorf("cut at %d of %d: %v", n, len(b), err)
		}
	}
	entries, rest, err := Decode(append(slices.Clone(b), "the rest"...))
	if err != nil || string(rest) != "the rest" || !slices.EqualFunc(entries, specimens(), Entry.Equal) {
		t.Errorf("Decode = %v, %q, %v", entries, rest, err)
	}
}

func TestDecodersRefuseWhatTheEncoderNeverWrites(t *testing.T) {
	one := "\x00\x00\x00\x00\x00\x00\x00\x01" // low half of an id
	for _, tc := range []struct{ name, body, reason string }{
		{"another kind", "B\x01\x00", "kind"},
		{"another version", "A\x01\x00", "version 1"},
		{"long count", "A\x02\x80\x00", "not minimal"},
		{"hostile count", "A\x02\xff\xff\xff\xff\x7f", "do not fit"},
		{"zero account", "A\x02\x01\x00" + one, "zero"},
		{"leading zero in Spent", "A\x02\x01\x20" + one + "\x00\x01", "not minimal"},
		{"leading zero in gap", "A\x02\x01\x11\x00" + one + "\x01", "not minimal"},
		{"first id missing", "A\x02\x01\x9f\x04\x02\x01", "no id"},
		{"unknown gap form", "A\x02\x01\x19" + one + "\x01", "unknown form"},
		{"empty extension", "A\x02\x01\x90\x00" + one + "\x01", "second byte"},
		{"reserved bit", "A\x02\x01\x90\x81" + one + "\x01\x01", "second byte"},
		{"two lengths", "A\x02\x01\x90\x02" + one + "\x01\x01\x01\x01\x01\x01\x01\x01\x01", "two lengths"},
		{"no debts", "A\x02\x01\x90\x01" + one + "\x01\x00", "number of its debts"},
		{"more debts than bytes", "A\x02\x01\x90\x01" + one + "\x01\x03\x01", "do not fit"},
		{"a long debt", "A\x02\x01\x90\x01" + one + "\x01\x01\x80\x00", "a debt"},
		{"a last debt of 0", "A\x02\x01\x90\x01" + one + "\x01\x01\x00", "last debt"},
		{"period that does not differ", "A\x02\x01\x90\x04" + one + "\x00\x01", "period"},
		{"long period", "A\x02\x01\x90\x04" + one + "\x82\x00\x01", "period"},
		{"ids out of order", "A\x02\x02\x10" + one + "\x01\x10" + one + "\x01", "its id does not come after"},
		{"id repeated", "A\x02\x02\x10" + one + "\x01\x1f\x01\x00\x00", "repeats"},
		{"periods out of order", "A\x02\x02\x10" + one + "\x01\x9f\x04\x01\x01", "period does not come after"},
		{"ids past the end", "A\x02\x02\x18\xff\xff\xff\xff\xff\xff\xff\xff" + one + "\x01\x11\x01" + one + "\x01",
			"out of range"},
	} {
		_, _, err := Decode([]byte(tc.body))
		var d *DecodeError
		if !errors.As(err, &d) || !strings.Contains(d.Error(), tc.reason) {
			t.Errorf("%s: %v, want a *DecodeError with %q", tc.name, err, tc.reason)
		}
	}
}

func TestEncodeAccountsRefusesDisorderReservationsAndZeros(t *testing.T) {
	good := Entry{ID: ID{1}, Account: Account{Spent: 1}}
	for name, entries := range map[string][]Entry{
		"descending": {good, {ID: ID{0}, Account: Account{Spent: 1}}},
		"repeated":   {good, good},
		"zero":       {{ID: ID{1}}},
		"reserved":   {{ID: ID{1}, Account: Account{Spent: 1, Reserved: 1}}},
	} {
		b, err := Encode([]byte("before"), entries)
		if err == nil || string(b) != "before" {
			t.Errorf("%s: %q, %v", name, b, err)
		}
		if (name == "reserved") != errors.Is(err, ErrReserved) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// No input panics, and every accepted input is the one encoding of its value.
func FuzzDecodeAccounts(f *testing.F) {
	for n := range len(specimens()) + 1 {
		b := must.Have(Encode(nil, specimens()[:n]))
		f.Add(append(b, byte(n)))
	}
	f.Add([]byte("A\x02\xff\xff\xff\xff\x7f"))
	f.Fuzz(func(t *testing.T, b []byte) {
		entries, rest, err := Decode(b)
		if err != nil {
			return
		}
		again, err := Encode(nil, slices.Collect(shardOf(t, entries).All()))
		if err != nil || !bytes.Equal(append(again, rest...), b) {
			t.Fatalf("decoded and encoded again: %x, %v, was %x", again, err, b)
		}
	})
}

func TestAShardHasNoJSON(t *testing.T) {
	for _, v := range []any{NewShard(), struct{ S Shard }{}} {
		if b, err := json.Marshal(v); err == nil {
			t.Errorf("%s", b)
		}
	}
	if err := json.Unmarshal([]byte("{}"), NewShard()); err == nil {
		t.Error("{} was read as a shard")
	}
}
