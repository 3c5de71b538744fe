package schemas

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/state/accounts"
)

func TestASealedRecordOpens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seal := NewLedgerSeal([32]byte{7}, 3)
		r := LedgerRecord{Key: rapid.SliceOf(rapid.Byte()).Draw(t, "key"),
			Value: rapid.SliceOfN(rapid.Byte(), 1, 1000).Draw(t, "value")}
		sealed := seal.Seal(r)
		if !bytes.Equal(sealed, seal.Seal(r)) {
			t.Fatal("a record has two encodings")
		}
		if n := len(sealed) - preambleBytes - sealTag; n%sealStep != 0 || n <= len(r.Value) || n > len(r.Value)+
			sealStep {
			t.Fatalf("%d bytes are sealed as %d", len(r.Value), len(sealed))
		}
		if got, err := seal.Open(r.Key, sealed); err != nil || !bytes.Equal(got, r.Value) {
			t.Fatalf("%v, %v", got, err)
		}
	})
}

// Nobody can read a label without the user-hash key, and a reader accepts only values that the
// shard itself has sealed for the Kafka key.
func TestRuleTheLedgerIsSealed(t *testing.T) {
	d := smallDelta(5, 1, 1)
	d.Labels, d.Users[0].ID = []Label{{Key: []byte("/secret-page"), Passes: 1}}, accounts.ID([]byte("0123456789abcdef"))
	records, err := EncodeDelta(d, 4, 1000)
	if err != nil {
		t.Fatal(err)
	}
	r, seal := records[0], NewLedgerSeal([32]byte{7}, 3)
	sealed := seal.Seal(r)
	if id := d.Users[0].ID[:]; bytes.Contains(sealed, d.Labels[0].Key) || bytes.Contains(sealed, id) {
		t.Error("a sealed record shows a key or an account")
	}
	for i := range sealed {
		damaged := bytes.Clone(sealed)
		damaged[i] ^= 1
		if _, err := seal.Open(r.Key, damaged); !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrVersion) {
			t.Fatalf("byte %d was changed: %v", i, err)
		}
	}
	for name, c := range map[string]struct {
		by         *LedgerSeal
		key, value []byte
		want       error
	}{
		"another user-hash key": {NewLedgerSeal([32]byte{8}, 3), r.Key, sealed, ErrMalformed},
		"another shard":         {NewLedgerSeal([32]byte{7}, 2), r.Key, sealed, ErrMalformed},
		"another Kafka key":     {seal, []byte("delta/2/0"), sealed, ErrMalformed},
		"cut off":               {seal, r.Key, sealed[:len(sealed)-1], ErrMalformed},
		"a tag only":            {seal, r.Key, sealed[:preambleBytes+sealTag], ErrMalformed},
		"in clear":              {seal, r.Key, r.Value, ErrVersion},
	} {
		if _, err := c.by.Open(c.key, c.value); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		opened, err := c.by.OpenRecord(LedgerRecord{Key: c.key, Value: c.value})
		var reader LedgerReader
		if err == nil {
			err = reader.Add(opened)
		}
		if !errors.Is(err, c.want) || len(reader.DeltaTurns()) != 0 {
			t.Errorf("%s: the reader took it: %v", name, err)
		}
	}
}

func TestATombstoneStaysOne(t *testing.T) {
	seal := NewLedgerSeal([32]byte{7}, 3)
	r, err := seal.OpenRecord(LedgerRecord{Key: []byte("delta/1/0"), Value: seal.Seal(LedgerRecord{})})
	if r.Value != nil || err != nil {
		t.Errorf("%v, %v", r, err)
	}
}
