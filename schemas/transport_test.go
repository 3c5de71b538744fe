package schemas

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"testing"

	"pgregory.net/rapid"
)

func TestPeekingFindsKindEpochAndTurn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		check := func(kind Kind, epoch int64, turn uint64, b []byte, err error) {
			if err != nil {
				t.Fatal(err)
			}
			k, e, w, err := PeekEpoch(b)
			if err != nil || k != kind || e != epoch || w != turn {
				t.Fatal(k, e, w, err)
			}
		}
		o, c, p, a := draw[Open](t), genContributions(t), draw[Partial](t), draw[Ack](t)
		check(KindOpen, o.Epoch, o.Turn, EncodeOpen(o), nil)
		b, err := EncodeContributions(c)
		check(KindContributions, c.Epoch, c.Turn, b, err)
		b, err = EncodePartial(p)
		check(KindPartial, p.Epoch, p.Turn, b, err)
		b, err = EncodeAck(a)
		check(KindAck, a.Epoch, a.Turn, b, err)
	})
	if _, _, _, err := PeekEpoch(LedgerKey{Kind: KindDeltaPart}.Bytes()); !errors.Is(err, ErrMalformed) {
		t.Error("a ledger key is no transport element:", err)
	}
}

func FuzzPeekEpoch(f *testing.F) {
	f.Add(EncodeOpen(Open{Epoch: 1, Turn: 300}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, _, _, err := PeekEpoch(b); err != nil && !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrVersion) {
			t.Fatal("untyped error:", err)
		}
	})
}

// A count of 2^60 elements in a record of a few bytes costs nothing.
func TestHostileLengthsAllocateNothing(t *testing.T) {
	huge := binary.AppendUvarint(nil, 1<<60)
	for _, c := range codecs() {
		if c.name == "release" {
			continue // goavro checks lengths itself; the fuzz test covers it
		}
		v := goldenValue(c, 1)
		b, err := c.encode(v)
		if err != nil {
			t.Fatal(err)
		}
		for offset := preambleBytes; offset < len(b); offset++ {
			bad := append(append(bytes.Clone(b[:offset]), huge...), b[offset:]...)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, _ = c.decode(bad)
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > 1<<17 {
				t.Fatalf("%s: a length at byte %d allocates %d bytes", c.name, offset, n)
			}
		}
	}
}

// Batches in shared memory do not affect each other, whatever the memory held before.
func TestBatchesShareMemoryAndNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m UserMemory
		for range rapid.IntRange(1, 4).Draw(t, "envelopes") {
			m.Reset()
			batches := genList(t, 5, genContributions)
			read := make([]Contributions, len(batches))
			for i, c := range batches {
				b, err := EncodeContributions(c)
				if err != nil {
					t.Fatal(err)
				}
				if read[i], err = DecodeContributions(&m, b); err != nil {
					t.Fatal(err)
				}
			}
			for i := range read {
				if diff := same(batches[i], read[i]); diff != "" {
					t.Fatal(diff)
				}
			}
		}
	})
}
