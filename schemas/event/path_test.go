package event

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestPathsAreSplitAtDots(t *testing.T) {
	item := func(n int) step { return step{item: n} }
	for text, want := range map[string][]step{
		"a": {member("a")}, "a.b.c": {member("a"), member("b"), member("c")}, `a\.b.c`: {member("a.b"), member("c")},
		`a\\.b`: {member(`a\`), member("b")},
		"a b":   {member("a b")}, "é.é": {member("é"), member("é")}, "a[0]": {member("a"), item(0)},
		"a[12][3].b": {member("a"), item(12), item(3), member("b")},
		`a\[0]`:      {member("a[0]")}, "a]": {member("a]")},
	} {
		if got, err := parsePath(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"", ".", "a.", ".a", "a..b", `a\`, `a\b`, "[0]", "a[", "a[]", "a[0", "a[0]b", "a[-1]",
		"a[x]", "a.[0]", "a[0].", "a[0]..b", "a[99999999999999999999]"} {
		if got, err := parsePath(text); err == nil {
			t.Errorf("%q: %q", text, got)
		}
		f := jsonFormat("s")
		f.Key = text
		var bad *FormatError
		if err := f.Check(); text != "" && (!errors.As(err, &bad) || bad.Field != "key") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestFieldsWithinRecordsAndValues(t *testing.T) {
	for _, c := range []struct {
		name, value, class, field string
		want                      int64
	}{
		{"good", `{"ctx":{"user":{"id":"u"}},"a.b":"k","t":1,"n":5}`, "", "", 5},
		{"fields of equal names elsewhere", `{"id":"x","user":{"id":"y"},"ctx":{"id":"z","user":{"id":"u"}},` +
			`"a":{"b":1},"a.b":"k","t":1,"n":-5}`, "", "", -5},
		{"least", `{"ctx":{"user":{"id":"u"}},"a.b":"k","t":1,"n":-9223372036854775808}`, "", "", -1 << 63},
		{"greatest", `{"ctx":{"user":{"id":"u"}},"a.b":"k","t":1,"n":922337203685477580.7e1}`, "", "", 1<<63 - 1},
		{"last of two records", `{"ctx":{"user":{"id":"x"}},"ctx":{"user":{"id":"u"}},"a.b":"k","t":1,"n":1}`, "", "",
			1},
		{"last of two records lacks it", `{"ctx":{"user":{"id":"x"}},"ctx":{"user":{}},"a.b":"k","t":1,"n":1}`,
			ClassMissingField, "user", 0},
		{"last of two is null", `{"ctx":{"user":{"id":"x"}},"ctx":null,"a.b":"k","t":1,"n":1}`, ClassNullField, "user",
			0},
		{"no record", `{"a.b":"k","t":1,"n":1}`, ClassMissingField, "user", 0},
		{"string for a record", `{"ctx":{"user":"u"},"a.b":"k","t":1,"n":1}`, ClassWrongType, "user", 0},
		{"list for a record", `{"ctx":{"user":[{"id":"u"}]},"a.b":"k","t":1,"n":1}`, ClassWrongType, "user", 0},
		{"null for a record", `{"ctx":{"user":null},"a.b":"k","t":1,"n":1}`, ClassNullField, "user", 0},
		{"broken within", `{"ctx":{"user":{"id":"u",}},"a.b":"k","t":1,"n":1}`, ClassUndecodable, "", 0},
		{"no value", `{"ctx":{"user":{"id":"u"}},"a.b":"k","t":1}`, ClassNoValue, "value", 0},
		{"null value", `{"ctx":{"user":{"id":"u"}},"a.b":"k","t":1,"n":null}`, ClassNoValue, "value", 0},
		{"value beyond 64 bits", `{"ctx":{"user":{"id":"u"}},"a.b":"k","t":1,"n":9223372036854775808}`, ClassBadValue,
			"value", 0},
		{"string value", `{"ctx":{"user":{"id":"u"}},"a.b":"k","t":1,"n":"x"}`, ClassBadValue, "value", 0},
		{"boolean value", `{"ctx":{"user":{"id":"u"}},"a.b":"k","t":1,"n":true}`, ClassBadValue, "value", 0},
	} {
		d := newDecoder(t, Format{Format: "jsonl", User: "ctx.user.id", Key: `a\.b`, Time: "t", TimeUnit: "s",
			Value: "n"})
		var ev Event
		err := d.Decode([]byte(c.value), &ev)
		var bad *Error
		if errors.As(err, &bad); classOf(t, err) != c.class || bad != nil && bad.Field != c.field {
			t.Errorf("%s: %v, want %s of %q", c.name, err, c.class, c.field)
		}
		if err == nil && (string(ev.User) != "u" || string(ev.Key) != "k" || ev.Value != c.want) {
			t.Errorf("%s: %+v", c.name, ev)
		}
	}
}

func TestItemsOfListsAreFields(t *testing.T) {
	d := newDecoder(t, Format{Format: "jsonl", User: "u[1].id", Key: "items[0][0]", Time: "t", TimeUnit: "s"})
	for value, class := range map[string]string{
		`{"u":[{"id":"x"},{"id":"u"}],"items":[["k",2],3],"t":1}`:                     "",
		`{"items":[["k"]],"t":1,"u":[1,2],"u":[[],{"id":"u"},{}]}`:                    "",
		`{"u":[{"id":"x"}],"items":[["k"]],"t":1}`:                                    ClassMissingField,
		`{"u":[{"id":"x"},{}],"items":[["k"]],"t":1}`:                                 ClassMissingField,
		`{"u":[],"items":[["k"]],"t":1}`:                                              ClassMissingField,
		`{"u":{"id":"u"},"items":[["k"]],"t":1}`:                                      ClassWrongType,
		`{"u":[1,[{"id":"u"}]],"items":[["k"]],"t":1}`:                                ClassWrongType,
		`{"u":[1,null],"items":[["k"]],"t":1}`:                                        ClassNullField,
		`{"u":null,"items":[["k"]],"t":1}`:                                            ClassNullField,
		`{"u":[1,{"id":"u"}],"items":[{"":"k"}],"t":1}`:                               ClassWrongType,
		`{"u":[1,{"id":"u"}],"items":[["k"],"t":1}`:                                   ClassUndecodable,
		`{"u":[1,{"id":"u"},],"items":[["k"]],"t":1}`:                                 ClassUndecodable,
		`{"u":` + strings.Repeat("[", 10001) + strings.Repeat("]", 10001) + `,"t":1}`: ClassUndecodable,
	} {
		var e Event
		err := d.Decode([]byte(value), &e)
		if got := classOf(t, err); got != class || err == nil && (string(e.User) != "u" || string(e.Key) != "k") {
			t.Errorf("%.80s: %+v, %v, want %q", value, e, err, class)
		}
	}
	literal, list := jsonFormat("s"), jsonFormat("s")
	literal.Key, list.Key = `items\[0]`, "items[0]"
	a, err := literal.Identity("")
	if err != nil {
		t.Fatal(err)
	}
	if b, err := list.Identity(""); err != nil || a.Key == b.Key {
		t.Errorf("%q and %q, %v", a.Key, b.Key, err)
	}
	avro := Format{Format: Avro, Schema: `{"type":"record","name":"V","fields":[{"name":"u","type":{"type":"array",` +
		`"items":"string"}},{"name":"t","type":"long"}]}`, User: "u[0]", Time: "t", TimeUnit: "s"}
	if err := avro.Check(); err == nil || !strings.Contains(err.Error(), "[0] within a value of type") {
		t.Errorf("a list of Avro: %v", err)
	}
}
