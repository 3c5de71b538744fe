package event

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
)

// eventSchema is a random schema with a user, within a record or a branch of a union, a key and a
// time among random fields.
func (g *randomAvro) eventSchema() string {
	types := []string{`"string"`, `"bytes"`, `"long"`, `{"type":"fixed","name":"U","size":3}`, `["null","string"]`,
		`["long","string"]`}
	random := func(name string) string { return fmt.Sprintf(`{"name":"%s","type":%s}`, name, g.schema(2)) }
	user := fmt.Sprintf(`{"name":"u","type":%s}`, types[g.rng.IntN(len(types))])
	inner := fmt.Sprintf(`{"type":"record","name":"O","fields":[%s,%s,%s]}`, random("a"), user, random("b"))
	switch g.rng.IntN(4) {
	case 0:
		inner = `["null",` + inner + `]`
	case 1: // a record that holds itself before its user
		inner = fmt.Sprintf(`{"type":"record","name":"O","fields":[{"name":"again","type":["null","O"]},%s,%s]}`, user,
			random("b"))
	}
	fields := []string{random("x"), fmt.Sprintf(`{"name":"o","type":%s}`, inner),
		`{"name":"k","type":{"type":"enum","name":"E","symbols":["A","B"]}}`,
		`{"name":"t","type":"long"}`, random("y")}
	return `{"type":"record","name":"Event","fields":[` + strings.Join(fields, ",") + `]}`
}

// another is a schema that is nearly the same.
func (g *randomAvro) another(schema string) string {
	edits := [][2]string{{`"string"`, `"bytes"`}, {`"int"`, `"long"`}, {`"long"`, `"string"`}, {`"null"`, `"boolean"`},
		{`"float"`, `"double"`},
		{`"A","B"`, `"B","A"`}, {`"name":"x"`, `"doc":"?","name":"z"`}, {`"name":"y"`, `"name":"z"`},
		{`"name":"O"`, `"name":"O","doc":"?"`},
		{`"size":3`, `"size":2`}, {`["null"`, `["long"`}, {`"name":"a"`, `"name":"u2"`}, {`"name":"f0"`, `"name":"g0"`}}
	for range 20 {
		e := edits[g.rng.IntN(len(edits))]
		if n := strings.Count(schema, e[0]); n > 0 {
			parts := strings.SplitAfterN(schema, e[0], 1+g.rng.IntN(n)+1)
			i := g.rng.IntN(len(parts) - 1)
			parts[i] = strings.TrimSuffix(parts[i], e[0]) + e[1]
			return strings.Join(parts, "")
		}
	}
	return schema
}

// Two schemas with the same field positions decode every record that both can read to the same
// field, whatever surrounds it; schemas that agree in everything decode alike to the last error.
func TestFormatsThatAgreeInAFieldDecodeItAlike(t *testing.T) {
	rng := rand.New(runseed.PCG(t, 5, 7))
	var alike, apart, other int
	for range 6000 {
		g := randomAvro{rng: rng}
		f := Format{Format: "avro", User: "o.u", Key: "k", Time: "t", TimeUnit: "ms", Schema: g.eventSchema(),
			Filters: []string{`x == "h"`, `(y ?? 1) == 1`}}
		to := f
		if to.Schema = g.another(f.Schema); rng.IntN(3) == 0 {
			to.Schema = g.another(to.Schema)
		}
		if strings.Contains(to.Schema, `"name":"z"`) { // x or y is called otherwise
			f.Filters, to.Filters = nil, nil
		}
		was, err := f.Identity("")
		if err != nil {
			t.Fatalf("%s: %v", f.Schema, err)
		}
		is, err := to.Identity("")
		if err != nil {
			continue
		}
		before, _ := NewDecoder(f)
		after, _ := NewDecoder(to)
		for range 12 {
			record := g.value(nil, before.records.(*avroSource).bare.root)
			switch rng.IntN(3) {
			case 0:
				record = g.value(nil, after.records.(*avroSource).bare.root)
			case 1:
				record = mutated(rng, record)
			}
			var a, b Event
			errA, errB := before.Decode(record, &a), after.Decode(record, &b)
			if reflect.DeepEqual(was, is) && (fmt.Sprint(errA) != fmt.Sprint(errB) || errA == nil &&
				!reflect.DeepEqual(a, b)) {
				t.Fatalf("of one identity, and %x is %v %v and %v %v:\n%s\n%s", record, a, errA, b, errB, f.Schema,
					to.Schema)
			}
			if errA != nil || errB != nil {
				continue
			}
			for field, c := range map[string][3]bool{
				"user": {was.User == is.User, string(a.User) == string(b.User)}, "key": {was.Key == is.Key,
					string(a.Key) == string(b.Key)},
				"time": {was.Time == is.Time, a.Millis == b.Millis}, "filters": {slices.Equal(was.Filters, is.Filters),
					a.Passes == b.Passes},
			} {
				switch {
				case c[0] && !c[1]:
					t.Fatalf("the %s stands at one position, and of %x is %v and %v:\n%s\n%s", field, record, a, b,
						f.Schema, to.Schema)
				case !c[1]:
					other++
				case c[0] && was.Records != is.Records:
					apart++
				case c[0]:
					alike++
				}
			}
		}
	}
	if alike < 1000 || apart < 1000 || other < 50 {
		t.Errorf("%d fields of equal formats, %d of others, %d decoded otherwise: the test says little", alike, apart,
			other)
	}
}
