package event

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
)

// Every text of up to six of the bytes that mean something to CSV (up to eight with TOLLGATE_LONG:
// 488,280 texts).
func TestEveryShortRowIsReadAsByEncodingCSV(t *testing.T) {
	longest := 8
	if !long.On() {
		longest = 6
	}
	var value []byte
	var extend func()
	extend = func() {
		if len(value) > 0 {
			checkCSV(t, value)
		}
		if len(value) == longest {
			return
		}
		for _, c := range []byte("a,\"\n\r") {
			value = append(value, c)
			extend()
			value = value[:len(value)-1]
		}
	}
	extend()
}

// randomString writes a JSON string of the pieces that decoders get wrong.
func randomString(rng *rand.Rand, b *strings.Builder) {
	pieces := [...]string{"a", "é", "😀", `\n`, `\"`, `\\`, `\/`, `\u0041`, `\ud83d\ude00`, `\ud83d`, `\ude00`,
		`\uD800\u0041`, `\ufffd`, "\uFFFD", "\x7f", "1", "-", "\u2028", `\u0000`}
	b.WriteByte('"')
	for range rng.IntN(4) {
		b.WriteString(pieces[rng.IntN(len(pieces))])
	}
	b.WriteByte('"')
}

// jsonText writes random JSON of few names and many kinds of values.
func jsonText(rng *rand.Rand, b *strings.Builder, depth int) {
	pick := func(of ...string) string { return of[rng.IntN(len(of))] }
	space := func() { b.WriteString(pick("", "", "", " ", "\n\t", "\r")) }
	space()
	kind := rng.IntN(7)
	if depth == 0 {
		kind = 6
	} else if depth > 3 {
		kind = rng.IntN(5)
	}
	switch kind {
	case 0:
		b.WriteString(pick("null", "true", "false"))
	case 1, 2:
		b.WriteString(pick("", "", "-") + pick("0", "1", "12", "1700000000", "253402300799", "1700000000123") +
			pick("", "", "", ".5", ".0009", ".000") + pick("", "", "", "e1", "E-3", "e+2", "e-400", "e99"))
	case 3:
		randomString(rng, b)
	case 4:
		b.WriteString(`"` + pick("1.5", "-1", "1e3", "2024-02-29T00:00:00Z", "2024-02-29T00:00:00.0015+02:00", "0001-01-01T00:00:00Z") + `"`)
	case 5:
		b.WriteByte('[')
		for i := range rng.IntN(3) {
			if i > 0 {
				b.WriteByte(',')
			}
			jsonText(rng, b, depth+1)
		}
		space()
		b.WriteByte(']')
	default:
		b.WriteByte('{')
		var members []string
		member := func(name, value string) {
			if value == "" {
				var v strings.Builder
				jsonText(rng, &v, depth+1)
				value = v.String()
			}
			members = append(members, name+pick(":", ": ", " :")+value)
		}
		if depth == 0 {
			member(`"user"`, pick(`"a"`, `17`, `"\ud83d\ude00"`, "-0", ""))
			member(pick(`"page"`, `"p\u0061ge"`), pick(`"é\n"`, "true", "3", `""`, ""))
			member(`"t"`, pick("1", "-0.5", "1.5e3", `"17"`, "253402300799.9", ""))
		}
		for range rng.IntN(4) {
			member(pick(`"user"`, `"page"`, `"t"`, `"x"`, `"x"`, `"us\u0065r"`, `"\ud800"`), "")
		}
		rng.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		for i, m := range members[:max(0, len(members)-rng.IntN(8)/7)] {
			if i > 0 {
				b.WriteByte(',')
			}
			space()
			b.WriteString(m)
		}
		space()
		b.WriteByte('}')
	}
	space()
}

// Random objects, whole and with a byte deleted, doubled, changed or swapped, are read as by
// encoding/json. Nearly half of the whole ones are events: fewer than 2 % are not once in 10⁹ runs.
func TestRandomObjectsAreReadAsByEncodingJSON(t *testing.T) {
	n := 100000
	if !long.On() {
		n = 3000
	}
	rng := rand.New(runseed.PCG(t, 3, 7))
	accepted := 0
	for range n {
		var b strings.Builder
		jsonText(rng, &b, 0)
		value := []byte(b.String())
		checkJSON(t, value)
		if d := newDecoder(t, jsonFormat("s")); d.Decode(value, new(Event)) == nil {
			accepted++
		}
		for range 3 {
			bad := append([]byte(nil), value...)
			at := rng.IntN(len(bad))
			switch rng.IntN(4) {
			case 0:
				bad = append(bad[:at], bad[at+1:]...)
			case 1:
				bad = append(bad[:at], append([]byte{bad[at]}, bad[at:]...)...)
			case 2:
				bad[at] = "{}[],:\"\\0-+.eEtn u\x00\x1f\xff\x80"[rng.IntN(22)]
			default:
				other := rng.IntN(len(bad))
				bad[at], bad[other] = bad[other], bad[at]
			}
			checkJSON(t, bad)
		}
	}
	t.Logf("%d of %d whole objects were events", accepted, n)
	if accepted < n/50 {
		t.Error("too few objects are events for the comparison to say much")
	}
}
