package hook

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
)

func init() {
	beam.RegisterType(reflect.TypeFor[byValue]())
	beam.RegisterType(reflect.TypeFor[byPointer]())
	beam.RegisterType(reflect.TypeFor[other]())
}

// opened is what the hooks of this test open.
type opened interface{ Name() string }

type thing struct {
	name   string
	closed *int
	err    error
}

func (t *thing) Name() string { return t.name }

func (t *thing) Close() error {
	*t.closed++
	return t.err
}

type byValue struct {
	Dir     string
	Ignored int `json:"-"`
}

func (h byValue) Open(context.Context) (opened, error) {
	return &thing{name: h.Dir, closed: new(int)}, nil
}

type byPointer struct{ Port int }

var errPlanned = errors.New("planned")

func (h *byPointer) Open(context.Context) (opened, error) { return nil, errPlanned }

type other struct{}

func (other) Open(context.Context) (int, error) { return 1, nil }

type unregistered struct{}

func (unregistered) Open(context.Context) (opened, error) { return nil, nil }

type text string

func (text) Open(context.Context) (opened, error) { return nil, nil }

func TestAHookArrivesWithItsExportedFields(t *testing.T) {
	for _, h := range []Hook[opened]{byValue{Dir: "out", Ignored: 7}, &byPointer{Port: 9}} {
		b, err := json.Marshal(NewField(h))
		if err != nil {
			t.Fatal(err)
		}
		var back Field[opened]
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatal(err)
		}
		want := h
		if v, ok := h.(byValue); ok {
			v.Ignored = 0
			want = v
		}
		if !reflect.DeepEqual(back.hook, want) {
			t.Errorf("%#v arrived as %#v", h, back.hook)
		}
	}
}

func TestAHookThatCannotTravelIsRefusedWhenItIsSent(t *testing.T) {
	for _, h := range []Hook[opened]{nil, unregistered{}, &unregistered{}, text("x")} {
		if _, err := json.Marshal(NewField(h)); !errors.Is(err, ErrHook) {
			t.Errorf("%T: error %v, want ErrHook", h, err)
		}
	}
	b, err := json.Marshal(NewField[int](other{}))
	if err != nil {
		t.Fatal(err)
	}
	var back Field[opened]
	if err := json.Unmarshal(b, &back); !errors.Is(err, ErrHook) {
		t.Errorf("a hook of another kind: error %v, want ErrHook", err)
	}
	for _, broken := range []string{"", "{}", `{"Type":"?"}`, `{"Type":""}`} {
		if err := json.Unmarshal([]byte(broken), &back); err == nil {
			t.Errorf("%q was read", broken)
		}
	}
}

func TestAHookIsOpenedOnceAndClosedOnce(t *testing.T) {
	h := NewField[opened](byValue{Dir: "out"})
	first, err := h.Open(t.Context())
	if err != nil || first.Name() != "out" {
		t.Fatal(first, err)
	}
	if second, err := h.Open(t.Context()); err != nil || second != first {
		t.Fatal("the hook was opened twice")
	}
	closed := first.(*thing).closed
	first.(*thing).err = errPlanned
	if err := h.Close(); !errors.Is(err, errPlanned) {
		t.Error(err)
	}
	if err := h.Close(); err != nil || *closed != 1 {
		t.Errorf("closed %d times, %v", *closed, err)
	}
	var none Field[opened]
	if _, err := none.Open(t.Context()); !errors.Is(err, ErrHook) {
		t.Error(err)
	}
	fails := NewField[opened](&byPointer{})
	if _, err := fails.Open(t.Context()); !errors.Is(err, errPlanned) {
		t.Error(err)
	}
	numbers := NewField[int](other{})
	if _, err := numbers.Open(t.Context()); err != nil {
		t.Error(err)
	}
	if err := numbers.Close(); err != nil {
		t.Error("what cannot be closed:", err)
	}
}
