package eventfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/linkedin/goavro/v2"
)

const visits = `{"type":"record","name":"V","fields":[{"name":"u","type":"string"},{"name":"t","type":"long"}]}`

// written returns a container of several blocks, written by goavro.
func written(t testing.TB, codec string, blocks, each int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := goavro.NewOCFWriter(goavro.OCFConfig{W: &b, Schema: visits, CompressionName: codec})
	if err != nil {
		t.Fatal(err)
	}
	for i := range blocks {
		var rows []any
		for j := range each {
			rows = append(rows, map[string]any{"u": fmt.Sprint("u", i*each+j), "t": int64(1000 - i*each - j)})
		}
		if err := w.Append(rows); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// handmade returns a container with one block of any contents.
func handmade(codec string, count int64, block []byte) []byte {
	long := func(b []byte, n int64) []byte { return binary.AppendVarint(b, n) }
	text := func(b []byte, s string) []byte { return append(long(b, int64(len(s))), s...) }
	b := long([]byte("Obj\x01"), 2)
	for _, s := range []string{"avro.schema", visits, "avro.codec", codec} {
		b = text(b, s)
	}
	b = append(long(b, 0), "0123456789abcdef"...)
	b = append(long(long(b, count), int64(len(block))), block...)
	return append(b, "0123456789abcdef"...)
}

func contents(t testing.TB, b []byte, limit int) (out []Record, err error) {
	t.Helper()
	c, err := NewContainer(bytes.NewReader(b), limit)
	if err != nil {
		return nil, err
	}
	for {
		r, err := c.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out = append(out, r)
	}
}

func TestContainersOfEveryCodecAreRead(t *testing.T) {
	codec, err := goavro.NewCodec(visits)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"null", "deflate", "snappy"} {
		got, err := contents(t, written(t, name, 3, 50), 0)
		if err != nil || len(got) != 150 {
			t.Fatalf("%s: %d records, %v", name, len(got), err)
		}
		for i, r := range got {
			v, rest, err := codec.NativeFromBinary(r.Value)
			if err != nil || len(rest) > 0 || v.(map[string]any)["u"] != fmt.Sprint("u", i) || r.Line != int64(i+1) {
				t.Fatalf("%s: record %d: %v %v", name, i, v, err)
			}
		}
	}
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := contents(t, handmade("zstandard", 1, z.EncodeAll([]byte("\x02a\x02"), nil)), 0)
	if err != nil || len(got) != 1 || string(got[0].Value) != "\x02a\x02" {
		t.Errorf("zstandard: %v, %v", got, err)
	}
}

func TestBrokenRecordsOfAContainerAreReturned(t *testing.T) {
	for _, c := range []struct {
		name  string
		count int64
		block string
		want  []string
	}{
		{"two", 2, "\x02a\x02\x02b\x02", []string{"\x02a\x02", "\x02b\x02"}},
		{"second is cut", 2, "\x02a\x02\x10b", []string{"\x02a\x02", "\x10b"}},
		{"first is broken", 3, "\x01a\x02\x02b\x02", []string{"\x01a\x02\x02b\x02"}},
		{"more bytes than records", 1, "\x02a\x02\x02b\x02", []string{"\x02a\x02", "\x02b\x02"}},
		{"very many of nothing", 1 << 60, "", nil},
		{"no record", 0, "", nil},
	} {
		got, err := contents(t, handmade("null", c.count, []byte(c.block)), 0)
		if err != nil || len(got) != len(c.want) {
			t.Errorf("%s: %d records, %v", c.name, len(got), err)
			continue
		}
		for i, r := range got {
			if string(r.Value) != c.want[i] {
				t.Errorf("%s: record %d is %q, want %q", c.name, i, r.Value, c.want[i])
			}
		}
	}
	got, err := contents(t, handmade("null", 2, []byte("\x10abcdefgh\x02\x02b\x02")), 5)
	if err != nil || len(got) != 2 || len(got[0].Value) != 5 || !got[0].Cut || got[1].Cut {
		t.Errorf("oversized: %+v, %v", got, err)
	}
}

func TestFilesThatAreNotContainers(t *testing.T) {
	whole := written(t, "snappy", 2, 5)
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	bomb := z.EncodeAll(make([]byte, maxContainerBlock+1), nil)
	for name, b := range map[string][]byte{
		"empty": nil, "text": []byte("user,time\n"), "header only in part": whole[:40],
		"cut in a block":  whole[:len(whole)-20],
		"cut in the mark": whole[:len(whole)-1], "another mark": append(bytes.Clone(whole[:len(whole)-1]),
			whole[len(whole)-1]^1),
		"unknown packing": handmade("lzma", 0, nil), "not deflate": handmade("deflate", 1, []byte("xx")),
		"not snappy": handmade("snappy", 1, []byte("xxxxxxxx")), "not zstandard": handmade("zstandard", 1,
			[]byte("xx")),
		"bomb of zstandard": handmade("zstandard", 1, bomb), "bomb of snappy": handmade("snappy", 1,
			[]byte("\xff\xff\xff\xff\x07\x00\x00\x00\x00")),
		"hostile size": append(handmade("null", 0, nil), "\x02\xff\xff\xff\xff\xff\xff\xff\xff\x7f"...),
		"hostile text": []byte("Obj\x01\x02\xff\xff\xff\xff\xff\xff\xff\xff\x7f"),
		"no schema":    []byte("Obj\x01\x000123456789abcdef"),
	} {
		if _, err := contents(t, b, 0); !errors.Is(err, ErrContainer) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// No input makes the reader panic, hang, or allocate more than the input has.
func FuzzContainer(f *testing.F) {
	for _, name := range []string{"null", "deflate", "snappy"} {
		f.Add(written(f, name, 1, 2))
	}
	f.Add(handmade("zstandard", 2, []byte("\x28\xb5\x2f\xfd")))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := contents(t, b, 100)
		if err != nil && !errors.Is(err, ErrContainer) {
			t.Error(err)
		}
		for _, r := range got {
			if len(r.Value) > 100 || r.Cut && len(r.Value) < 100 {
				t.Errorf("%+v", r)
			}
		}
	})
}
