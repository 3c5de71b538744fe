package schemas

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/tollgate-dp/tollgate/internal/testing/runseed"
)

func messageBytes(m DeadLetterMessage) int {
	n := messageFraming + len(m.Key) + len(m.Value)
	for _, h := range m.Headers {
		n += h.size()
	}
	return n
}

func TestDeadLettersKeepEverythingThatFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(4096, 8192).Draw(t, "limit")
		blob := func(name string, most int) []byte {
			size := rapid.OneOf(rapid.IntRange(0, most), rapid.IntRange(most-most/5, most)).Draw(t, name)
			return bytes.Repeat([]byte{rapid.Byte().Draw(t, name)}, size)
		}
		origin := Origin{Topic: rapid.StringMatching(`[a-z]{1,249}`).Draw(t, "topic"),
			Partition: rapid.Int32().Draw(t, "p"),
			Offset:    rapid.Int64().Draw(t, "o"), Timestamp: rapid.Int64().Draw(t, "ts")}
		class := rapid.StringMatching(`[a-z_]{1,16}`).Draw(t, "class")
		key, value := blob("key", 4000), blob("value", 10000)
		headers := genList(t, 6, func(t *rapid.T) RecordHeader {
			name := rapid.SampledFrom([]string{"x", DeadLetterLength, DeadLetterClass, DeadLetterKeyLength}).Draw(t,
				"name")
			return RecordHeader{Key: name, Value: blob("header", 900)}
		})
		m := DeadLetter(origin, class, key, value, headers, limit)
		if n := messageBytes(m); n > limit {
			t.Fatalf("%d bytes, limit %d", n, limit)
		}
		if again := DeadLetter(origin, class, key, value, headers, limit); same(m, again) != "" {
			t.Fatal("one record has two dead letters")
		}
		info := readDeadLetter(m.Headers)
		for name, want := range map[string]any{DeadLetterTopic: origin.Topic, DeadLetterPartition: origin.Partition,
			DeadLetterOffset: origin.Offset, DeadLetterTimestamp: origin.Timestamp, DeadLetterClass: class,
			DeadLetterLength: len(value)} {
			if info.tollgate[name] != fmt.Sprint(want) {
				t.Fatalf("%s: %q, want %v", name, info.tollgate[name], want)
			}
		}
		r, ok := ParseDeadLetter(m)
		if !ok || r.Origin != origin || r.Class != class || same(r.Headers, info.original) != "" ||
			!r.Cut && (!bytes.Equal(r.Key, key) || !bytes.Equal(r.Value, value) || len(r.Headers) < len(headers)) {
			t.Fatalf("taken apart: %v, %+v", ok, r)
		}
		digest, keyDigest := info.tollgate[DeadLetterSHA256], info.tollgate[DeadLetterKeySHA256]
		checkCut(t, "value", value, m.Value, digest)
		checkCut(t, "key", key, m.Key, keyDigest)
		dropped := int(max(0, info.number(DeadLetterHeadersDropped)))
		if d := same(info.original, headers[:len(headers)-dropped]); d != "" {
			t.Fatal(d)
		}
		length := info.number(DeadLetterKeyLength)
		if cut := keyDigest != ""; cut != (length == int64(len(key))) || cut != (length >= 0) {
			t.Fatal("key length", length)
		}
		if messageBytes(m) < limit-200 && (digest != "" && keyDigest == "") {
			t.Fatal("cut although there was room")
		}
	})
}

func checkCut(t *rapid.T, name string, whole, kept []byte, digest string) {
	d := sha256.Sum256(whole)
	switch {
	case !bytes.HasPrefix(whole, kept):
		t.Fatalf("%s is not what it was", name)
	case len(kept) < len(whole) && digest != hex.EncodeToString(d[:]), len(kept) == len(whole) && digest != "":
		t.Fatalf("%s: %d of %d bytes with digest %q", name, len(kept), len(whole), digest)
	}
}

func TestANullValueStaysNull(t *testing.T) {
	m := DeadLetter(Origin{Topic: "t"}, "undecodable", nil, nil, nil, 0)
	if r, ok := ParseDeadLetter(m); !ok || r.Value != nil {
		t.Error(ok, r)
	}
	if info := readDeadLetter(m.Headers); m.Value != nil || info.tollgate[DeadLetterLength] != "null" {
		t.Error(m.Value, info)
	}
	m = DeadLetter(Origin{Topic: "t"}, "undecodable", nil, []byte{}, nil, 0)
	if info := readDeadLetter(m.Headers); m.Value == nil || info.tollgate[DeadLetterLength] != "0" {
		t.Error(m.Value, info)
	}
}

// deadLetterInfo holds the headers of a dead-lettered record.
type deadLetterInfo struct {
	tollgate map[string]string
	original []RecordHeader
}

// number returns the number in a header; -1 without the header, and for null.
func (i deadLetterInfo) number(name string) int64 {
	n, err := strconv.ParseInt(i.tollgate[name], 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// readDeadLetter splits headers after DeadLetterLength: a record cannot fake those before it.
func readDeadLetter(headers []RecordHeader) deadLetterInfo {
	ours := 1 + slices.IndexFunc(headers, func(h RecordHeader) bool { return h.Key == DeadLetterLength })
	info := deadLetterInfo{map[string]string{}, headers[ours:]}
	for _, h := range headers[:ours] {
		info.tollgate[h.Key] = string(h.Value)
	}
	return info
}
