package schemas

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/state/accounts"
)

func decodeParts(t interface{ Fatal(...any) }, records []LedgerRecord) []LedgerPart {
	parts := make([]LedgerPart, len(records))
	for i, r := range records {
		p, err := DecodeLedgerPart(r.Key, r.Value)
		if err != nil {
			t.Fatal(err)
		}
		parts[i] = p
	}
	return parts
}

func TestDeltasAndSnapshotsSplitBelowTheLimitAndJoin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(partOverhead+1, 400).Draw(t, "limit")
		d, s := genDelta(t), genSnapshot(t)
		deltas, err := EncodeDelta(d, 7, limit)
		if err != nil {
			t.Fatal(err)
		}
		snaps, err := EncodeSnapshot(s, 1, limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range append(slices.Clone(deltas), snaps...) {
			if len(r.Key)+len(r.Value) > limit {
				t.Fatalf("record of %d bytes, limit %d", len(r.Key)+len(r.Value), limit)
			}
		}
		parts := decodeParts(t, deltas)
		got, err := JoinDelta(parts...)
		if err != nil {
			t.Fatal(err)
		}
		if diff := same(d, got); diff != "" {
			t.Fatal(diff)
		}
		if parts[0].Set.Digest != d.BodyDigest() || parts[0].Key.Slot != d.Turn%7 {
			t.Fatal("digest or slot of the parts")
		}
		later := d
		later.Epoch++
		if later.BodyDigest() != d.BodyDigest() {
			t.Fatal("the epoch changes the digest of the body")
		}
		snap, err := JoinSnapshot(decodeParts(t, snaps)...)
		if err != nil {
			t.Fatal(err)
		}
		if diff := same(s, snap); diff != "" {
			t.Fatal(diff)
		}
		if n := len(parts); n > 1 {
			if _, err := JoinDelta(parts[:n-1]...); !errors.Is(err, ErrIncomplete) {
				t.Fatal("a part less:", err)
			}
			parts[0], parts[1] = parts[1], parts[0]
			if _, err := JoinDelta(parts...); err == nil {
				t.Fatal("parts out of order joined")
			}
		}
	})
}

func TestPartsWhoseHeadersContradictTheirBodyAreRefused(t *testing.T) {
	d, s := smallDelta(1, 5, 1), Snapshot{Turn: 1}
	deltas, err := EncodeDelta(d, 4, 1000)
	if err != nil {
		t.Fatal(err)
	}
	snaps, err := EncodeSnapshot(s, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	delta, snap := decodeParts(t, deltas)[0], decodeParts(t, snaps)[0]
	delta.Set.Turn, snap.Set.Turn = 2, 2
	if _, err := JoinDelta(delta); !errors.Is(err, ErrMalformed) {
		t.Error(err)
	}
	if _, err := JoinSnapshot(snap); !errors.Is(err, ErrMalformed) {
		t.Error(err)
	}
	if _, err := JoinDelta(snap); !errors.Is(err, ErrMalformed) {
		t.Error("a snapshot was joined as a delta:", err)
	}
	if _, err := JoinSnapshot(); !errors.Is(err, ErrIncomplete) {
		t.Error(err)
	}
	two, err := EncodeOpenSlice(OpenSlice{Turn: 2})
	if err != nil {
		t.Fatal(err)
	}
	for name, open := range map[string][][]byte{"turns": {two, two}, "bytes": {{1, 2, 3}}} {
		if _, err := EncodeSnapshot(Snapshot{Open: open}, 0, 1000); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	label := []Label{{Key: []byte{1}}}
	for name, open := range map[string]OpenSlice{"labels": {Labels: []Label{{Key: []byte{2}}, {Key: []byte{1}}}},
		"filters": {Labels: []Label{{Key: []byte{2}, Passes: 2}, {Key: []byte{2}, Passes: 1}}},
		"users":   {Users: []ContribUser{{Period: 1}, {Period: 1}}},
		"entries": {Labels: label, Users: []ContribUser{{Entries: []KeyCount{{0, 1}, {0, 1}}}}},
		"records": {Labels: label, Users: []ContribUser{{Records: []RecordValue{{N: 1}, {N: 1}}}}},
		"index":   {Users: []ContribUser{{Entries: []KeyCount{{0, 1}}}}}} {
		if _, err := EncodeOpenSlice(open); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := EncodeSnapshot(Snapshot{Accounts: make([]accounts.Entry, 1)}, 0, 1000); err == nil {
		t.Error("a zero account was encoded")
	}
}

func TestLimitsTooSmallForAPartAreRefused(t *testing.T) {
	if _, err := EncodeDelta(Delta{}, 8, partOverhead); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
	if _, err := EncodeSnapshot(Snapshot{}, 0, 0); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
}

func TestDeltasOutOfOrderHaveNoEncoding(t *testing.T) {
	user := ContribUser{ID: accounts.ID{1}, Period: 1}
	for name, d := range map[string]Delta{
		"users": {Users: []DeltaUser{{ContribUser: user}, {ContribUser: user}}},
		"keys":  {Labels: []Label{{Key: []byte{2}}, {Key: []byte{1}}}},
		"slice": {Labels: []Label{{Key: []byte{1}}, {Key: []byte{2}}},
			Users: []DeltaUser{{ContribUser: ContribUser{Entries: []KeyCount{{1, 1}, {0, 1}}}}}},
		"dictionary": {Users: []DeltaUser{{ContribUser: ContribUser{Entries: []KeyCount{{0, 1}}}}}},
		"tallies":    {Tallies: make([]WindowTally, 1)},
		"admissions": {Users: []DeltaUser{{Admitted: Bits{0}}}},
		"spare bit": {Windows: make([]MetricWindow, 1), Tallies: make([]WindowTally, 1),
			Users: []DeltaUser{{Admitted: Bits{2}}}},
	} {
		if _, err := EncodeDelta(d, 8, 1000); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := EncodeDelta(Delta{}, 0, 1000); !errors.Is(err, ErrInvalid) {
		t.Errorf("no slots: %v", err)
	}
	if _, err := EncodeSnapshot(Snapshot{}, 2, 1000); !errors.Is(err, ErrInvalid) {
		t.Errorf("slot 2: %v", err)
	}
}

func TestSettledTurnsSplitBelowTheLimitAndJoin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genSettled(t)
		limit := rapid.IntRange(60, 2000).Draw(t, "limit")
		parts, err := SplitSettled(s, limit)
		if errors.Is(err, ErrTooLarge) && limit < 600 {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		var wire []Settled
		for _, p := range parts {
			b, err := EncodeControl(Control{Back: -1 << 63, BackEpoch: -1 << 63, Body: &p})
			if err != nil {
				t.Fatal(err)
			}
			if len(b) > limit {
				t.Fatalf("part of %d bytes, limit %d", len(b), limit)
			}
			c, err := DecodeControl(b)
			if err != nil {
				t.Fatal(err)
			}
			wire = append(wire, *c.Body.(*Settled))
		}
		twice := rapid.Permutation(append(slices.Clone(wire), wire[len(wire)-1])).Draw(t, "order")
		got, err := JoinSettled(twice)
		if err != nil {
			t.Fatal(err)
		}
		if diff := same(s, got); diff != "" {
			t.Fatal(diff)
		}
		if len(wire) > 1 {
			if _, err := JoinSettled(wire[1:]); !errors.Is(err, ErrIncomplete) {
				t.Fatal("a part less:", err)
			}
		}
		changed := slices.Clone(wire)
		changed[0].CountsEnd = append(slices.Clone(changed[0].CountsEnd), 1)
		if _, err := JoinSettled(changed); !errors.Is(err, ErrMalformed) {
			t.Fatal("a changed part joined:", err)
		}
		other := slices.Clone(wire)
		other[0].Epoch++
		if len(wire) > 1 {
			if _, err := JoinSettled(other); !errors.Is(err, ErrMalformed) {
				t.Fatal("parts of two epochs joined:", err)
			}
		}
	})
	if _, err := JoinSettled(nil); !errors.Is(err, ErrIncomplete) {
		t.Error(err)
	}
	if _, err := EncodeControl(Control{Body: &Settled{}}); !errors.Is(err, ErrInvalid) {
		t.Error("a settled turn that was not split was encoded")
	}
}

func TestLedgerKeysAreUnique(t *testing.T) {
	for _, k := range []LedgerKey{{KindDeltaPart, 0, 0}, {KindDeltaPart, 1<<64 - 1, 1<<32 - 1},
		{KindSnapshotPart, 1, 7}} {
		got, err := DecodeLedgerKey(k.Bytes())
		if err != nil || got != k {
			t.Errorf("%s: %v %v", k.Bytes(), got, err)
		}
	}
	for _, bad := range []string{"", "fence", "delta", "delta/", "delta/1", "delta/01/0", "delta/1/-1", "delta/1/+1",
		"delta/1/4294967296", "delta/18446744073709551616/0", "snapshot/2/0", "delta/1/0/0", "Delta/1/0"} {
		if _, err := DecodeLedgerKey([]byte(bad)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func FuzzDecodeLedgerPart(f *testing.F) {
	d := Delta{Turn: 9, Epoch: 3, Labels: []Label{{Key: []byte{1}}},
		Users: []DeltaUser{{ContribUser: ContribUser{Entries: []KeyCount{{0, 2}}}}}}
	records, err := EncodeDelta(d, 4, 120)
	if err != nil {
		f.Fatal(err)
	}
	for _, r := range records {
		f.Add(r.Key, r.Value)
	}
	f.Add([]byte("snapshot/1/0"), []byte{})
	f.Fuzz(func(t *testing.T, key, value []byte) {
		p, err := DecodeLedgerPart(key, value)
		var l LedgerReader
		if addErr := l.Add(LedgerRecord{Key: key, Value: value}); (addErr == nil) != (err == nil) {
			t.Fatal("the reader and the decoder disagree")
		}
		if err != nil {
			if !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrVersion) {
				t.Fatal("untyped error:", err)
			}
			return
		}
		if !bytes.Equal(p.Key.Bytes(), key) {
			t.Fatal("two forms of a key")
		}
		if _, err := l.DeltasAfter(0); err != nil && !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrVersion) {
			t.Fatal("untyped error:", err)
		}
		if _, _, err := l.NewestSnapshot(1 << 63); err != nil && !errors.Is(err, ErrMalformed) &&
			!errors.Is(err, ErrVersion) {
			t.Fatal("untyped error:", err)
		}
	})
}
