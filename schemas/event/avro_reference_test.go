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
	"github.com/twmb/avro"
	"github.com/twmb/avro/atype"

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
func unwrapped(t testing.TB, v any, typ *avro.SchemaNode) any {
	switch typ.Type {
	case atype.Union:
		m, ok := v.(map[string]any)
		if !ok {
			return v // null
		}
		for name, inner := range m {
			for i := range typ.Branches {
				b := &typ.Branches[i]
				if full := b.Name; name == full || full == "" && strings.SplitN(name, ".", 2)[0] == b.Type {
					return unwrapped(t, inner, b)
				}
			}
			t.Fatalf("no branch %q", name)
		}
	case atype.Record:
		out := map[string]any{}
		for _, f := range typ.Fields {
			out[f.Name] = unwrapped(t, v.(map[string]any)[f.Name], &f.Type)
		}
		return out
	case atype.Map:
		out := map[string]any{}
		for k, inner := range v.(map[string]any) {
			out[k] = unwrapped(t, inner, typ.Values)
		}
		return out
	case atype.Array:
		out := []any{}
		for _, inner := range v.([]any) {
			out = append(out, unwrapped(t, inner, typ.Items))
		}
		return out
	case atype.Int:
		return int64(v.(int32))
	case atype.Long:
		if moment, ok := v.(time.Time); ok {
			if typ.LogicalType == "timestamp-millis" {
				return moment.UnixMilli()
			}
			return moment.UnixMicro()
		}
	case atype.Float:
		return float64(v.(float32))
	case atype.Bytes, atype.Fixed:
		return string(v.([]byte))
	}
	return v
}

// sameValue is reflect.DeepEqual with a NaN that equals itself.
func sameValue(a, b any) bool {
	return reflect.DeepEqual(a, b) || strings.Contains(fmt.Sprint(a), "NaN") && fmt.Sprint(a) == fmt.Sprint(b)
}

// checkAvro compares decoding with goavro: both accept every whole value, and read the same values.
// Of mutated ones, the library refuses blocks of another size than they claim, which goavro
// accepts, and accepts other bytes than 0 and 1 as booleans.
func checkAvro(t testing.TB, codec *goavro.Codec, schema string, value []byte, mutated bool) {
	parsed, root, err := parseAvro(schema)
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	want, rest, err := codec.NativeFromBinary(value)
	if err != nil && strings.Contains(err.Error(), "duplicate key") {
		return
	}
	var got any
	left, gotErr := parsed.Decode(value, &got)
	skipped, skipErr := parsed.Decode(value, new(struct{}), avroOptions...)
	if !mutated && (err != nil || gotErr != nil || skipErr != nil || len(rest)+len(left)+len(skipped) > 0) {
		t.Fatalf("%s: %x: %v, goavro %v, skipping %v", schema, value, gotErr, err, skipErr)
	}
	if err != nil || gotErr != nil || len(rest)+len(left) > 0 {
		return
	}
	if got, want := avroAny(got), unwrapped(t, want, root); !sameValue(got, want) && !mutated {
		t.Fatalf("%s: %x: %v, goavro gives %v", schema, value, got, want)
	}
}

// randomAvro writes a random type and a value of it.
type randomAvro struct {
	rng   *rand.Rand
	named int
}

var avroPrimitives = [...]string{atype.Null, atype.Boolean, atype.Int, atype.Long, atype.Float, atype.Double,
	atype.Bytes, atype.String}

func (g *randomAvro) schema(depth int) string {
	kinds := 13
	if depth > 3 {
		kinds = 8
	}
	g.named++
	name := fmt.Sprintf("N%d", g.named)
	switch k := g.rng.IntN(kinds); k {
	case 0, 1, 2, 3, 4, 5, 6, 7:
		return `"` + avroPrimitives[k] + `"`
	case 8:
		return fmt.Sprintf(`{"type":"fixed","name":"%s","size":%d}`, name, 1+g.rng.IntN(3))
	case 9:
		return fmt.Sprintf(`{"type":"enum","name":"%s","symbols":["A","B","C"]}`, name)
	case 10:
		for {
			array := `{"type":"array","items":` + g.schema(depth+1) + `}`
			_, _, err := parseAvro(`{"type":"record","name":"A","fields":[{"name":"a","type":` + array + `}]}`)
			if err == nil {
				return array // its items have bytes
			}
		}
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

func (g *randomAvro) value(b []byte, t *avro.SchemaNode) []byte {
	switch t.Type {
	case atype.Boolean:
		return append(b, byte(g.rng.IntN(2)))
	case atype.Int:
		return binary.AppendVarint(b, int64(int32(g.rng.Uint32())>>g.rng.IntN(32)))
	case atype.Long:
		return binary.AppendVarint(b, int64(g.rng.Uint64())>>g.rng.IntN(64))
	case atype.Float:
		return binary.LittleEndian.AppendUint32(b, math.Float32bits(g.rng.Float32()))
	case atype.Double:
		return binary.LittleEndian.AppendUint64(b, math.Float64bits(g.rng.Float64()))
	case atype.Bytes, atype.String:
		return append(b, avroText("héllo"[:g.rng.IntN(4)])...)
	case atype.Fixed:
		return append(b, "abcdefghijklmnop"[:t.Size]...)
	case atype.Enum:
		return binary.AppendVarint(b, int64(g.rng.IntN(len(t.Symbols))))
	case atype.Union:
		i := g.rng.IntN(len(t.Branches))
		return g.value(binary.AppendVarint(b, int64(i)), &t.Branches[i])
	case atype.Record:
		for _, f := range t.Fields {
			b = g.value(b, &f.Type)
		}
	case atype.Array, atype.Map:
		for g.rng.IntN(2) == 0 {
			n := 1 + g.rng.IntN(3)
			var block []byte
			for range n {
				if t.Type == atype.Array {
					block = g.value(block, t.Items)
				} else {
					block = g.value(append(block, avroText(fmt.Sprint(g.rng.IntN(20)))...), t.Values)
				}
			}
			if g.rng.IntN(2) == 0 {
				b = binary.AppendVarint(b, int64(n))
			} else {
				b = binary.AppendVarint(binary.AppendVarint(b, int64(-n)), int64(len(block)))
			}
			b = append(b, block...)
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

// Random values of random schemas are read as by goavro; with a byte deleted, doubled or changed,
// they do not make the library panic.
func TestRandomAvroIsReadAsByGoavro(t *testing.T) {
	n := 20000
	if !long.On() {
		n = 1500
	}
	rng := rand.New(runseed.PCG(t, 5, 11))
	for range n {
		g := &randomAvro{rng: rng}
		schema := g.record(0, "Root")
		codec, err := goavro.NewCodec(schema)
		if err != nil {
			t.Fatalf("%s: %v", schema, err)
		}
		_, root, err := parseAvro(schema)
		if err != nil {
			t.Fatalf("%s: %v", schema, err)
		}
		value := g.value(nil, root)
		if len(value) > referenceInput {
			continue
		}
		checkAvro(t, codec, schema, value, false)
		for range 4 {
			checkAvro(t, codec, schema, mutated(rng, value), true)
		}
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
