package schemas

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
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
		info, err := ReadDeadLetter(m.Headers)
		if err != nil {
			t.Fatal(err)
		}
		if info.Origin != origin || info.Class != class || info.Length != int64(len(value)) {
			t.Fatal(info)
		}
		checkCut(t, "value", value, m.Value, info.SHA256)
		checkCut(t, "key", key, m.Key, info.KeySHA256)
		if d := same(info.Original, headers[:len(headers)-info.HeadersDropped]); d != "" {
			t.Fatal(d)
		}
		if cut := info.KeySHA256 != ""; cut != (info.KeyLength == int64(len(key))) || cut != (info.KeyLength >= 0) {
			t.Fatal("key length", info.KeyLength)
		}
		if messageBytes(m) < limit-200 && (info.SHA256 != "" && info.KeySHA256 == "") {
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
	info, err := ReadDeadLetter(m.Headers)
	if err != nil || m.Value != nil || info.Length != -1 {
		t.Error(m.Value, info, err)
	}
	m = DeadLetter(Origin{Topic: "t"}, "undecodable", nil, []byte{}, nil, 0)
	if info, err = ReadDeadLetter(m.Headers); err != nil || m.Value == nil || info.Length != 0 {
		t.Error(m.Value, info, err)
	}
}

func FuzzReadDeadLetter(f *testing.F) {
	f.Add("class", "topic", "1", "2", "3", "4")
	f.Add("", "t", "x", "99999999999999999999", "", "null")
	f.Fuzz(func(t *testing.T, class, topic, partition, offset, timestamp, length string) {
		headers := []RecordHeader{{DeadLetterClass, []byte(class)}, {DeadLetterTopic, []byte(topic)},
			{DeadLetterPartition, []byte(partition)}, {DeadLetterOffset, []byte(offset)},
			{DeadLetterTimestamp, []byte(timestamp)}, {DeadLetterLength, []byte(length)}, {"own", nil}}
		info, err := ReadDeadLetter(headers)
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Fatal("untyped error:", err)
			}
			return
		}
		m := DeadLetter(info.Origin, info.Class, nil, nil, info.Original, 0)
		if again, err := ReadDeadLetter(m.Headers); len(topic)+len(class) < 500 &&
			(err != nil || again.Origin != info.Origin) {
			t.Fatal(again, err)
		}
		for i := range headers {
			if _, err := ReadDeadLetter(headers[i+1:]); err == nil {
				t.Fatal("headers of ours missing, and no error")
			}
		}
	})
}
