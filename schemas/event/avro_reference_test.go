package event

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/linkedin/goavro/v2"

	"github.com/tollgate-dp/tollgate/internal/base/formats/avro"
	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
)

// goavro allocates a block's claimed count. Inputs here are too short for more items than this.
const referenceItems = 1 << 12

func init() { goavro.MaxBlockCount = referenceItems }

// referenceInput limits inputs so that they stay below this package's limit on nesting: goavro has
// no limit.
const referenceInput = 400

// unwrapped converts a value of goavro to one for filters.
func unwrapped(t testing.TB, v any, typ *avro.Type) any {
	switch typ.Kind {
	case avro.Union:
		m, ok := v.(map[string]any)
		if !ok {
			return v // null
		}
		for name, inner := range m {
			for _, b := range typ.Branches {
				if full := b.Name; name == full || full == "" && strings.SplitN(name, ".", 2)[0] == b.Kind.String() {
					return unwrapped(t, inner, b)
				}
			}
			t.Fatalf("no branch %q", name)
		}
	case avro.Record:
		out := map[string]any{}
		for _, f := range typ.Fields {
			out[f.Name] = unwrapped(t, v.(map[string]any)[f.Name], f.Type)
		}
		return out
	case avro.Map:
		out := map[string]any{}
		for k, inner := range v.(map[string]any) {
			out[k] = unwrapped(t, inner, typ.Items)
		}
		return out
	case avro.Array:
		out := []any{}
		for _, inner := range v.([]any) {
			out = append(out, unwrapped(t, inner, typ.Items))
		}
		return out
	case avro.Int:
		return int64(v.(int32))
	case avro.Long:
		if moment, ok := v.(time.Time); ok {
			if typ.Logical == "timestamp-millis" {
				return moment.UnixMilli()
			}
			return moment.UnixMicro()
		}
	case avro.Float:
		return float64(v.(float32))
	case avro.Bytes, avro.Fixed:
		return string(v.([]byte))
	}
	return v
}

// sameValue is reflect.DeepEqual with a NaN that equals itself.
func sameValue(a, b any) bool {
	return reflect.DeepEqual(a, b) || strings.Contains(fmt.Sprint(a), "NaN") && fmt.Sprint(a) == fmt.Sprint(b)
}

// hasLongInteger reports whether a value may have an integer that does not fit its type: goavro
// drops bits of it, and the reader refuses it.
func hasLongInteger(value []byte) bool {
	run := 0
	for _, c := range value {
		if run++; c < 0x80 {
			run = 0
		} else if run == 4 {
			return true
		}
	}
	return false
}

// comparedTo reports whether the reader must accept a value if and only if goavro does. mutated
// values may have integers that do not fit.
func comparedTo(goavroErr error, accepted, mutated bool, value []byte) bool {
	if goavroErr != nil {
		// goavro's limit in these tests is below the reader's, which does not look at keys.
		return !strings.Contains(goavroErr.Error(), "MaxBlockCount") && !strings.Contains(goavroErr.Error(),
			"duplicate key")
	}
	return accepted || !mutated || !hasLongInteger(value)
}

// checkAvro compares skipping and building with goavro: the same records accepted, with the same
// values.
func checkAvro(t testing.TB, codec *goavro.Codec, typ *avro.Type, value []byte, mutated bool) (accepted bool) {
	want, rest, err := codec.NativeFromBinary(value)
	accepted = err == nil && len(rest) == 0
	var r avro.Reader
	r.Open(value)
	got := r.Skip(typ, 0) && r.At == len(value)
	if !comparedTo(err, got, mutated, value) {
		return false
	}
	if got != accepted {
		t.Fatalf("%s: %x: accepted %v, goavro %v (%v, %d left)", codec.Schema(), value, got, accepted, err, len(rest))
	}
	if !accepted {
		return false
	}
	r.Open(value)
	if got, want := make(internedTexts).avroAny(&r, typ), unwrapped(t, want, typ); !sameValue(got, want) {
		t.Fatalf("%s: %x: %v, goavro gives %v", codec.Schema(), value, got, want)
	}
	return true
}

// randomAvro writes a random type and a value of it.
type randomAvro struct {
	rng   *rand.Rand
	named int
}

func (g *randomAvro) schema(depth int) string {
	kinds := 13
	if depth > 3 {
		kinds = 8
	}
	g.named++
	name := fmt.Sprintf("N%d", g.named)
	switch k := g.rng.IntN(kinds); k {
	case 0, 1, 2, 3, 4, 5, 6, 7:
		return `"` + avro.Kind(k).String() + `"`
	case 8:
		return fmt.Sprintf(`{"type":"fixed","name":"%s","size":%d}`, name, 1+g.rng.IntN(3))
	case 9:
		return fmt.Sprintf(`{"type":"enum","name":"%s","symbols":["A","B","C"]}`, name)
	case 10:
		return `{"type":"array","items":` + g.schema(depth+1) + `}`
	case 11:
		if g.rng.IntN(2) == 0 {
			return fmt.Sprintf(`{"type":"long","logicalType":"timestamp-%s"}`,
				[]string{"millis", "micros"}[g.rng.IntN(2)])
		}
		return `{"type":"map","values":` + g.schema(depth+1) + `}`
	}
	if g.rng.IntN(2) == 0 {
		return `["null","long",` + g.record(depth+1, name) + `,"string"]`
	}
	return g.record(depth+1, name)
}

func (g *randomAvro) record(depth int, name string) string {
	var fields []string
	for i := range g.rng.IntN(4) {
		fields = append(fields, fmt.Sprintf(`{"name":"f%d","type":%s}`, i, g.schema(depth)))
	}
	if depth > 0 && g.rng.IntN(4) == 0 {
		fields = append(fields, fmt.Sprintf(`{"name":"again","type":["null","%s"]}`, name))
	}
	return fmt.Sprintf(`{"type":"record","name":"%s","namespace":"n%d","fields":[%s]}`, name, depth%2,
		strings.Join(fields, ","))
}

func (g *randomAvro) value(b []byte, t *avro.Type) []byte {
	switch t.Kind {
	case avro.Boolean:
		return append(b, byte(g.rng.IntN(2)))
	case avro.Int:
		return binary.AppendVarint(b, int64(int32(g.rng.Uint32())>>g.rng.IntN(32)))
	case avro.Long:
		return binary.AppendVarint(b, int64(g.rng.Uint64())>>g.rng.IntN(64))
	case avro.Float:
		return binary.LittleEndian.AppendUint32(b, math.Float32bits(g.rng.Float32()))
	case avro.Double:
		return binary.LittleEndian.AppendUint64(b, math.Float64bits(g.rng.Float64()))
	case avro.Bytes, avro.String:
		return append(b, avroText("héllo"[:g.rng.IntN(4)])...)
	case avro.Fixed:
		return append(b, "abc"[:t.Size]...)
	case avro.Enum:
		return binary.AppendVarint(b, int64(g.rng.IntN(len(t.Symbols))))
	case avro.Union:
		i := g.rng.IntN(len(t.Branches))
		return g.value(binary.AppendVarint(b, int64(i)), t.Branches[i])
	case avro.Record:
		for _, f := range t.Fields {
			b = g.value(b, f.Type)
		}
	case avro.Array, avro.Map:
		for g.rng.IntN(2) == 0 {
			n := 1 + g.rng.IntN(3)
			if g.rng.IntN(2) == 0 {
				b = binary.AppendVarint(b, int64(n))
			} else {
				b = append(binary.AppendVarint(b, int64(-n)), 2)
			}
			for range n {
				if t.Kind == avro.Map {
					b = append(b, avroText(fmt.Sprint(g.rng.IntN(20)))...)
				}
				b = g.value(b, t.Items)
			}
		}
		return append(b, 0)
	}
	return b
}

func mutated(rng *rand.Rand, value []byte) []byte {
	bad := append([]byte(nil), value...)
	if len(bad) == 0 {
		return []byte{byte(rng.Uint32())}
	}
	i := rng.IntN(len(bad))
	switch rng.IntN(4) {
	case 0:
		return append(bad[:i], bad[i+1:]...)
	case 1:
		return append(bad[:i], append([]byte{bad[i]}, bad[i:]...)...)
	case 2:
		bad[i] = byte(rng.Uint32())
	default:
		bad[i] ^= 0x80
	}
	return bad
}

// Random values of random schemas, whole and with a byte deleted, doubled or changed, are read as
// by goavro. Both accept nearly all whole values and refuse three quarters of the others: half as
// many are not once in 10⁹ runs.
func TestRandomAvroIsReadAsByGoavro(t *testing.T) {
	n := 20000
	if !long.On() {
		n = 1500
	}
	rng := rand.New(runseed.PCG(t, 5, 11))
	var whole, broken int
	for range n {
		g := &randomAvro{rng: rng}
		schema := g.record(0, "Root")
		codec, err := goavro.NewCodec(schema)
		if err != nil {
			t.Fatalf("%s: %v", schema, err)
		}
		typ, err := avro.Parse(schema)
		if err != nil {
			t.Fatalf("%s: %v", schema, err)
		}
		value := g.value(nil, typ)
		if len(value) > referenceInput {
			continue
		}
		if checkAvro(t, codec, typ, value, false) {
			whole++
		}
		for range 4 {
			if !checkAvro(t, codec, typ, mutated(rng, value), true) {
				broken++
			}
		}
	}
	t.Logf("%d values accepted by both, %d refused by both", whole, broken)
	if whole < n/2 || broken < n/4 {
		t.Error("too few of either for the comparison to say much")
	}
}

// No schema makes the parser panic or plan for ever, and no record the decoder.
func FuzzAvroSchema(f *testing.F) {
	f.Add(visitSchema, []byte("abc"))
	f.Add(`{"type":"record","name":"L","fields":[{"name":"u","type":["null","L"]},{"name":"t","type":{"type":"map",`+
		`"values":"L"}}]}`, []byte{2, 2, 2, 0})
	f.Fuzz(func(t *testing.T, schema string, value []byte) {
		for _, path := range []string{"u", "user.id", "u.u.u"} {
			d, err := NewDecoder(Format{Format: "avro", Schema: schema, User: path, Time: "t", TimeUnit: "s"})
			if err == nil {
				classOf(t, d.Decode(value, new(Event)))
			}
		}
	})
}
