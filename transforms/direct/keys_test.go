package direct_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
)

// TestKeysOfEveryType are told apart, and put together, as their encodings would be.
func TestKeysOfEveryType(t *testing.T) {
	for _, fn := range []any{boolKey, stringKey, bytesKey, intKey, int8Key, uint64Key} {
		t.Run(fmt.Sprintf("%T", fn), func(t *testing.T) {
			b := newBuilder(t)
			in := beam.GroupByKey(b.Scope, beam.ParDo(b.Scope, fn, beam.Create(b.Scope, 0, 1, 2, 3, 4, 5)))
			n := &notes{}
			b.group(iterate(func(_ beam.EventTime, _ string, values []int, _ emitter) error {
				slices.Sort(values)
				n.add("%v", values)
				return nil
			}), beam.GroupByKey(b.Scope, beam.ParDo(b.Scope, groupName, in)))
			if err := b.run(t.Context()); err != nil {
				t.Fatal(err)
			}
			slices.Sort(n.all)
			if want := []string{"[0 2 4]", "[1 3 5]"}; !slices.Equal(n.all, want) {
				t.Errorf("groups %v, want %v", n.all, want)
			}
		})
	}
}

func init() {
	for _, fn := range []any{boolKey, stringKey, bytesKey, intKey, int8Key, uint64Key, groupName} {
		beam.RegisterFunction(fn)
	}
}

func boolKey(n int) (bool, int)     { return n%2 == 0, n }
func stringKey(n int) (string, int) { return fmt.Sprint(n % 2), n }
func bytesKey(n int) ([]byte, int)  { return []byte{byte(n % 2)}, n }
func intKey(n int) (int, int)       { return n % 2, n }
func int8Key(n int) (int8, int)     { return int8(n % 2), n }
func uint64Key(n int) (uint64, int) { return uint64(n%2) << 63, n }

// groupName takes groups of any key.
func groupName(key beam.T, next func(*int) bool, emit func(string, int)) {
	for n := 0; next(&n); {
		emit(fmt.Sprint(key), n)
	}
}
