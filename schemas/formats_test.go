package schemas

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/golden"
	"github.com/tollgate-dp/tollgate/state/budgets"
)

// codec is a format with its generator.
type codec struct {
	name   string
	gen    func(*rapid.T) any
	encode func(any) ([]byte, error)
	decode func([]byte) (any, error)
}

// samples returns the number of golden values of the format.
func (c codec) samples() int {
	if c.name == "control" {
		return 3 + len(goldenRunRecords())
	}
	return 3
}

func codecOf[T any](name string, gen func(*rapid.T) T, encode func(T) ([]byte, error),
	decode func([]byte) (T, error)) codec {
	return codec{name: name, gen: func(t *rapid.T) any { return gen(t) },
		encode: func(v any) ([]byte, error) { return encode(v.(T)) },
		decode: func(b []byte) (any, error) { return decode(b) }}
}

func decodeContributions(b []byte) (Contributions, error) {
	return DecodeContributions(new(UserMemory), b)
}

func noError[T any](encode func(T) []byte) func(T) ([]byte, error) {
	return func(v T) ([]byte, error) { return encode(v), nil }
}

func codecs() []codec {
	return []codec{
		codecOf("control", genControl, EncodeControl, DecodeControl),
		codecOf("delta-body", func(t *rapid.T) Delta { d := genDelta(t); d.Epoch = 0; return d },
			func(d Delta) ([]byte, error) { return d.body() },
			func(b []byte) (Delta, error) { return decode(b, KindDeltaBody, (*Delta).layout) }),
		codecOf("snapshot", func(t *rapid.T) Snapshot { s := genSnapshot(t); s.Epoch = 0; return s },
			func(s Snapshot) ([]byte, error) {
				records, err := EncodeSnapshot(s, 0, 1<<30)
				if err != nil {
					return nil, err
				}
				p, err := DecodeLedgerPart(records[0].Key, records[0].Value)
				return p.Chunk, err
			}, func(b []byte) (Snapshot, error) { return decode(b, KindSnapshotBody, (*Snapshot).layout) }),
		codecOf("open-slice", genOpenSlice, EncodeOpenSlice, DecodeOpenSlice),
		codecOf("contributions", genContributions, EncodeContributions, decodeContributions),
		codecOf("open", draw[Open], noError(EncodeOpen), DecodeOpen),
		codecOf("partial", draw[Partial], EncodePartial, DecodePartial),
		codecOf("ack", draw[Ack], EncodeAck, DecodeAck),
		codecOfReleases("release-avro", CountsEncoding{CountsAvro, 7}),
		codecOfReleases("release-json", CountsEncoding{Format: CountsJSON}),
		codecOf("release-key", func(t *rapid.T) ReleaseKey {
			r := draw[Release](t)
			return ReleaseKey{Metric: r.Metric, WindowStart: r.WindowStart, Key: r.Key}
		}, func(k ReleaseKey) ([]byte, error) {
			return EncodeReleaseKey(k.Metric, k.WindowStart, []byte(k.Key)), nil
		}, DecodeReleaseKey),
	}
}

// encoded is a release with its encoding.
type encoded struct {
	Release  Release
	Encoding CountsEncoding
}

// codecOfReleases is the format of releases in one encoding. A decoded value is encoded again in
// the encoding that its first bytes name: a fuzzer finds the others, too.
func codecOfReleases(name string, enc CountsEncoding) codec {
	return codecOf(name, func(t *rapid.T) encoded { return encoded{draw[Release](t), enc} },
		func(s encoded) ([]byte, error) { return EncodeRelease(s.Encoding, s.Release) },
		func(b []byte) (encoded, error) {
			r, err := DecodeRelease(b)
			s := encoded{r, CountsEncoding{Format: CountsJSON}}
			switch {
			case err != nil:
				return encoded{}, err
			case b[0] == 0:
				s.Encoding = CountsEncoding{CountsAvro, binary.BigEndian.Uint32(b[1:5])}
			}
			return s, nil
		})
}

func same(a, b any) string { return cmp.Diff(a, b, cmpopts.EquateEmpty(), cmp.AllowUnexported()) }

func TestEveryFormatGivesBackWhatWasEncoded(t *testing.T) {
	for _, c := range codecs() {
		t.Run(c.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				v := c.gen(t)
				b, err := c.encode(v)
				if err != nil {
					t.Fatal(err)
				}
				again, err := c.encode(v)
				if err != nil || !bytes.Equal(b, again) {
					t.Fatal("the same value has two encodings")
				}
				got, err := c.decode(b)
				if err != nil {
					t.Fatal(err)
				}
				if d := same(v, got); d != "" {
					t.Fatal(d)
				}
			})
		})
	}
}

// A prefix, an extension, another kind and another version of an encoding are refused, each with a
// typed error. Single bytes changed within an encoding reach deeper than random bytes do.
func TestEveryFormatRefusesWhatIsNotExactlyAnEncoding(t *testing.T) {
	for _, c := range codecs() {
		t.Run(c.name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				b, err := c.encode(c.gen(rt))
				if err != nil {
					rt.Fatal(err)
				}
				for range 8 {
					other := bytes.Clone(b)
					other[rapid.IntRange(0, len(b)-1).Draw(rt, "at")] = rapid.Byte().Draw(rt, "byte")
					checkCanonical(t, c, other)
				}
				if c.name == "release-key" {
					return // its last part is any text
				}
				refused := func(what string, bad []byte) {
					v, err := c.decode(bad)
					if other, is := v.(Control); is && err == nil && other.Body.controlKind() == Kind(bad[2]) &&
						bad[2] != b[2] {
						return // some kinds of control records have the same fields
					}
					if err == nil && withoutItsEnd(b, bad) {
						return
					}
					if !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrVersion) {
						rt.Fatalf("%s: %v", what, err)
					}
				}
				refused("cut short", b[:rapid.IntRange(0, len(b)-1).Draw(rt, "cut")])
				refused("left over", append(bytes.Clone(b), rapid.Byte().Draw(rt, "extra")))
				for i := range 4 {
					if c.name == "release-avro" && i > 0 {
						break // a schema's id may be any
					}
					other := bytes.Clone(b)
					other[i] ^= byte(rapid.IntRange(1, 255).Draw(rt, "flip"))
					refused(fmt.Sprint("preamble byte ", i), other)
				}
			})
		})
	}
}

// withoutItsEnd reports whether cut is the header b without the time zone, or without the time zone
// and the planned part of the budget, or the END b without its tallies: these fields are last and
// optional.
func withoutItsEnd(b, cut []byte) bool {
	for _, planned := range []bool{true, false} {
		c, err := DecodeControl(b)
		if err != nil {
			return false
		}
		var h *Header
		switch body := c.Body.(type) {
		case *Header:
			h = body
		case *Generation:
			h = &body.Header
		case *End:
			body.Tallies, h = ReadTallies{}, &Header{}
		default:
			return false
		}
		if h.Zone = ""; !planned {
			h.Budget.Planned = budgets.Planned{}
		}
		if want, err := EncodeControl(c); err == nil && bytes.Equal(want, cut) && !bytes.Equal(b, cut) {
			return true
		}
	}
	return false
}

// An accepted input is the one encoding of its value.
func checkCanonical(t *testing.T, c codec, b []byte) {
	t.Helper()
	v, err := c.decode(b)
	if err != nil {
		if !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrVersion) {
			t.Fatalf("untyped error: %v", err)
		}
		return
	}
	again, err := c.encode(v)
	if err != nil {
		t.Fatalf("decoded a value that cannot be encoded: %v", err)
	}
	if !bytes.Equal(again, b) {
		t.Fatalf("%x and %x decode to one value", b, again)
	}
	back, err := c.decode(again)
	if err != nil {
		t.Fatal(err)
	}
	if d := same(v, back); d != "" {
		t.Fatal(d)
	}
}

func fuzzCodec(f *testing.F, name string) {
	for _, c := range codecs() {
		if c.name != name {
			continue
		}
		for i := range 20 {
			b, err := c.encode(rapid.Custom(c.gen).Example(i))
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b)
		}
		for i := range c.samples() {
			b, err := c.encode(goldenValue(c, i))
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b)
		}
		f.Fuzz(func(t *testing.T, b []byte) { checkCanonical(t, c, b) })
	}
}

func FuzzDecodeControl(f *testing.F)       { fuzzCodec(f, "control") }
func FuzzDecodeDeltaBody(f *testing.F)     { fuzzCodec(f, "delta-body") }
func FuzzDecodeSnapshotBody(f *testing.F)  { fuzzCodec(f, "snapshot") }
func FuzzDecodeOpenSlice(f *testing.F)     { fuzzCodec(f, "open-slice") }
func FuzzDecodeContributions(f *testing.F) { fuzzCodec(f, "contributions") }
func FuzzDecodeOpen(f *testing.F)          { fuzzCodec(f, "open") }
func FuzzDecodePartial(f *testing.F)       { fuzzCodec(f, "partial") }
func FuzzDecodeAck(f *testing.F)           { fuzzCodec(f, "ack") }
func FuzzDecodeReleaseAvro(f *testing.F)   { fuzzCodec(f, "release-avro") }
func FuzzDecodeReleaseJSON(f *testing.F)   { fuzzCodec(f, "release-json") }
func FuzzDecodeReleaseKey(f *testing.F)    { fuzzCodec(f, "release-key") }

// The bytes of a version never change: logs hold them for years. A failure here means that a format
// was changed without a new version.
func TestFormatsAreWhatTheyWere(t *testing.T) {
	var out bytes.Buffer
	for _, c := range codecs() {
		for i := range c.samples() {
			b, err := c.encode(goldenValue(c, i))
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&out, "%s %d %s\n", c.name, i, hex.EncodeToString(b))
		}
	}
	path := filepath.Join("testdata", "formats.golden")
	golden.File(t, path, out.String())
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// Decoding the file itself, not only comparing, keeps old logs readable.
	for _, line := range bytes.Split(bytes.TrimSpace(want), []byte("\n")) {
		var name, text string
		var i int
		if _, err := fmt.Sscanf(string(line), "%s %d %s", &name, &i, &text); err != nil {
			t.Fatal(err)
		}
		b, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range codecs() {
			if c.name == name {
				if _, err := c.decode(b); err != nil {
					t.Errorf("%s %d: %v", name, i, err)
				}
			}
		}
	}
}

// Decoders refuse a second encoding of the same fields: BodyDigest and the comparison of records
// require that a value has only one.
func TestRuleNoValueHasASecondEncoding(t *testing.T) {
	decodeDelta := func(b []byte) error { _, err := decode(b, KindDeltaBody, (*Delta).layout); return err }
	decodeBatch := func(b []byte) error { _, err := decodeContributions(b); return err }
	body := func(admitted byte) []byte {
		d := Delta{Turn: 5, Windows: []MetricWindow{{0, 1, 2}}, Tallies: make([]WindowTally, 1),
			Users: []DeltaUser{{ContribUser{Period: 3}, Bits{admitted}}}}
		b, err := d.body()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	none, all := body(0), body(1)
	batch, err := EncodeContributions(Contributions{Labels: []Label{{Key: []byte("k"), Passes: 1}},
		Users: []ContribUser{{}}})
	if err != nil {
		t.Fatal(err)
	}
	// A body ends with the user's head and period; a batch with its labels, the numbers of users
	// and of entries, the id and the head.
	end, users := len(none)-2, len(batch)-19
	with := func(b []byte, offset int, bytes ...byte) []byte {
		return append(append(slices.Clone(b[:offset]), bytes...), b[offset+len(bytes):]...)
	}
	for name, c := range map[string]struct {
		decode    func([]byte) error
		good, bad []byte
	}{
		"nobody admitted, as bits": {decodeDelta, none, append(with(none, end, none[end]|admittedSome<<1), 0)},
		"everybody admitted, as bits": {decodeDelta, all,
			append(with(all, end, all[end]&^(admittedAll<<1)|admittedSome<<1), 1)},
		"an unknown form, with bits":   {decodeDelta, none, append(with(none, end, none[end]|3<<1), 0)},
		"a bit beyond the windows":     {decodeDelta, none, append(with(none, end, none[end]|admittedSome<<1), 2)},
		"a step to the same period":    {decodeDelta, none, with(none, end+1, 0)},
		"entries that nobody has":      {decodeBatch, batch, with(batch, users+1, 1)},
		"filters that no label passes": {decodeBatch, batch, with(batch, users-1, 0)},
		"a number in two bytes":        {decodeBatch, batch, append(with(batch, len(batch)-1, 0x80), 0)},
	} {
		if err := c.decode(c.good); err != nil {
			t.Errorf("%s: what was encoded is refused: %v", name, err)
		}
		if err := c.decode(c.bad); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v, want ErrMalformed", name, err)
		}
	}
}
