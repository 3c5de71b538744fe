package event

import (
	"encoding/binary"
	"errors"
	"testing"
)

// A record without a user is an event if the format allows it, in every encoding, and otherwise
// broken; a record with another fault stays broken.
func TestRecordsWithoutAUser(t *testing.T) {
	const schema = `{"type":"record","name":"e","fields":[{"name":"u","type":["null","string"]},{"name":"k",` +
		`"type":"string"},{"name":"t","type":{"type":"long","logicalType":"timestamp-millis"}}]}`
	formats := map[string]Format{
		CSV: {Format: CSV, Columns: []string{"u", "k", "t"}}, TSV: {Format: TSV, Columns: []string{"u", "k", "t"}},
		JSONL: {Format: JSONL}, Avro: {Format: Avro, Schema: schema},
	}
	for _, c := range []struct{ name, format, record, class string }{
		{"empty", CSV, ",k,5", ClassEmptyUser}, {"quoted and empty", CSV, `"",k,5`, ClassEmptyUser},
		{"empty", TSV, "\tk\t5", ClassEmptyUser},
		{"empty", JSONL, `{"u":"","k":"k","t":5}`, ClassEmptyUser}, {"null", JSONL, `{"u":null,"k":"k","t":5}`,
			ClassNullField},
		{"absent", JSONL, `{"k":"k","t":5}`, ClassMissingField}, {"null", Avro, "\x00\x02k\x0a", ClassNullField},
		{"empty", Avro, "\x02\x00\x02k\x0a", ClassEmptyUser},
	} {
		format := formats[c.format]
		format.User, format.Key, format.Time = "u", "k", "t"
		if c.format != Avro {
			format.TimeUnit = "ms"
		}
		var e Event
		if broken := decodeAs(t, format, c.record, &e); broken == nil || *broken != (Error{c.class, "user"}) {
			t.Errorf("%s in %s: %v, want class %s", c.name, c.format, broken, c.class)
		}
		format.NoUser = NoUserEach
		if broken := decodeAs(t, format, c.record, &e); broken != nil || len(e.User) != 0 || string(e.Key) != "k" ||
			e.Millis != 5 {
			t.Errorf("%s in %s: %v, %+v", c.name, c.format, broken, e)
		}
	}
	each := Format{Format: JSONL, User: "u.id", Key: "k", Time: "t", TimeUnit: "ms", NoUser: NoUserEach}
	var e Event
	for record, want := range map[string]Error{
		`{"u":"a","k":"k","t":5}`: {ClassWrongType, "user"}, `{"u":{"id":[]},"k":"k","t":5}`: {ClassWrongType, "user"},
		`{"u":null,"t":5}`: {ClassMissingField, "key"}, `{"k":"k","t":"x"}`: {ClassBadTimestamp, "time"},
	} {
		if broken := decodeAs(t, each, record, &e); broken == nil || *broken != want {
			t.Errorf("%s: %v, want %v", record, broken, want)
		}
	}
	row := Format{Format: CSV, Columns: []string{"t", "k", "u"}, User: "u", Key: "k", Time: "t", TimeUnit: "ms",
		NoUser: NoUserEach}
	if broken := decodeAs(t, row, "5,k", &e); broken == nil || broken.Class != ClassMissingField {
		t.Errorf("a row that is too short: %v", broken)
	}
	if each.NoUser = "all"; each.Check() == nil {
		t.Error("no_user is all, and nothing is wrong")
	}
}

func decodeAs(t *testing.T, f Format, record string, e *Event) *Error {
	t.Helper()
	d, err := NewDecoder(f)
	if err != nil {
		t.Fatal(err)
	}
	err = d.Decode([]byte(record), e)
	var broken *Error
	if err != nil && !errors.As(err, &broken) {
		t.Fatal(err)
	}
	return broken
}

// Whatever bytes are the id of a user, they are not the name of a position, and different users and
// positions have different names.
func TestRuleNoUserHasTheNameOfAPosition(t *testing.T) {
	each := Format{NoUser: NoUserEach}
	names := map[string]string{}
	var n Namer
	add := func(what string, e Event, position uint64) {
		n.Name(&e, &each, position)
		if other, taken := names[string(e.User)]; taken {
			t.Errorf("%s and %s have one name", what, other)
		}
		names[string(e.User)] = what
	}
	five := binary.BigEndian.AppendUint64(nil, 5)
	for what, id := range map[string][]byte{"bytes": five, "a name of a position": append([]byte("p"), five...),
		"a name of a user": append([]byte("u"), five...)} {
		add(what, Event{User: id}, 5)
	}
	add("position 5", Event{}, 5)
	add("position 6", Event{}, 6)
	plain := Event{User: []byte("ann")}
	if n.Name(&plain, &Format{}, 5); string(plain.User) != "ann" {
		t.Errorf("without no_user, ann is named %q", plain.User)
	}
}
