package plain

import (
	"context"
	"encoding/hex"
	"log/slog"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	beamlog "github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/ptest"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

func TestMain(m *testing.M) {
	beamlog.SetLogger(silent{})
	slog.SetDefault(slog.New(slog.DiscardHandler))
	for name, fill := range map[string]byte{"PLAIN_TEST_USERS": 1, "PLAIN_TEST_NOISE": 2} {
		secret := [32]byte{fill}
		if err := os.Setenv(name, hex.EncodeToString(secret[:])); err != nil {
			os.Exit(2)
		}
	}
	ptest.MainWithDefault(m, "prism")
}

// silent keeps the runner's own log out of the tests' output.
type silent struct{}

func (silent) Log(context.Context, beamlog.Severity, int, string) {}

func testEnvironment() Environment {
	return Environment{UserHash: "PLAIN_TEST_USERS", Noise: "PLAIN_TEST_NOISE", NoiseID: "test"}
}

func init() {
	beam.RegisterDoFn(&eventsFn{})
	register.Emitter3[beam.EventTime, string, string]()
}

// event is an input of a test.
type event struct {
	user, key string
	millis    int64
}

// eventsFn gives events their times.
type eventsFn struct {
	Users, Keys []string
}

func (f *eventsFn) ProcessElement(_ int, millis []int64, emit func(beam.EventTime, string, string)) {
	for i, millisOfEvent := range millis {
		emit(mtime.FromMilliseconds(millisOfEvent), f.Users[i], f.Keys[i])
	}
}

// source returns a collection of events with their times.
func source(s beam.Scope, events []event) beam.PCollection {
	fn := &eventsFn{}
	var millis []int64
	for _, e := range events {
		fn.Users, fn.Keys, millis = append(fn.Users, e.user), append(fn.Keys, e.key), append(millis, e.millis)
	}
	return beam.ParDo(s, fn, beam.ParDo(s, &timesFn{millis}, beam.Impulse(s)))
}

func init() {
	beam.RegisterDoFn(&timesFn{})
	register.Emitter2[int, []int64]()
}

type timesFn struct{ Millis []int64 }

func (f *timesFn) ProcessElement(_ []byte, emit func(int, []int64)) { emit(0, f.Millis) }

const hour = int64(3_600_000)

// base is when the tests' windows begin: a multiple of all window sizes used.
const base = 500_000 * hour

// testSettings have three metrics, hourly windows, and budgets so small that
// both run out for some users.
func testSettings(t testing.TB, windows int64) Settings {
	t.Helper()
	b, err := budgets.NewBudget(1, 1e-6, budgets.GDP, 1e-7)
	if err != nil {
		t.Fatal(err)
	}
	return Settings{
		Incarnation: [16]byte{7}, Budget: b, Window: time.Hour,
		From: time.UnixMilli(base), To: time.UnixMilli(base + windows*hour),
		Metrics: []Metric{
			{Name: "views", Kind: metrickind.Events, MaxKeysPerUser: 2, MaxEventsPerKey: 3, Sigma: 16,
				PublicKeys: []string{"b", "a", "c"}},
			{Name: "all views", Kind: metrickind.Events, MaxKeysPerUser: 3, MaxEventsPerKey: 2, Sigma: 40},
			{Name: "visitors", Kind: metrickind.DistinctUsers, MaxKeysPerUser: 4, Sigma: 10, PublicKeys: []string{"a",
				"b", "c", "d"}},
		},
	}
}

// model computes the same sequentially: admitted counts by (metric, window, key), and released
// values.
func model(t testing.TB, s Settings, events []event) (counts map[string]int64, released []Released) {
	t.Helper()
	secrets, err := testEnvironment().Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	a, err := newAdmitter(&s, &secrets)
	if err != nil {
		t.Fatal(err)
	}
	counts = map[string]int64{}
	for end := s.span().from + s.span().size; end <= s.span().to; end += s.span().size {
		emitZeros((&Transforms{settings: s}).publicKeys(), s.span().size, end, func(cell []byte, _ int64) {
			counts[string(cell)] = 0
		})
	}
	for id, windows := range windowsOf(&s, events) {
		account := accounts.Entry{ID: id}
		for _, w := range windows {
			if err := a.admit(&account, w, func(cell []byte, n int64) { counts[string(cell)] += n }); err != nil {
				t.Fatal(err)
			}
		}
	}
	release := &releaseFn{part: part{Settings: s}, noise: noisereduction.NoiseKey{}}
	release.Secrets = (&Transforms{s, testEnvironment()}).part().Secrets
	if err := release.Setup(t.Context()); err != nil {
		t.Fatal(err)
	}
	for cell, n := range counts {
		if err := release.ProcessElement(t.Context(), []byte(cell), n, func(r Released) {
			released = append(released, r)
		}); err != nil {
			t.Fatal(err)
		}
	}
	return counts, released
}

// windowsOf returns the windows of each user that have events.
func windowsOf(s *Settings, events []event) map[accounts.ID][]slice {
	all := map[accounts.ID][]slice{}
	hasher := schemas.NewHasher(testSecrets().UserHash.Reveal())
	for _, e := range events {
		if end, ok := s.span().end(e.millis); ok {
			id := hasher.Account([]byte(e.user))
			all[id] = append(all[id], slice{end, []keyCount{{e.key, 1}}})
		}
	}
	for id := range all {
		all[id] = merge(all[id])
	}
	return all
}

func mustTransforms(t testing.TB, s Settings) *Transforms {
	t.Helper()
	f, err := New(s, testEnvironment())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func anys[T any](all []T) []any {
	out := make([]any, len(all))
	for i := range all {
		out[i] = all[i]
	}
	return out
}

func shuffled(events []event, seed int64) []event {
	out := slices.Clone(events)
	r := uint64(seed)
	for i := len(out) - 1; i > 0; i-- {
		r = r*6364136223846793005 + 1442695040888963407
		j := int(r>>33) % (i + 1)
		out[i], out[j] = out[j], out[i]
	}
	return out
}

func testSecrets() Secrets {
	return Secrets{UserHash: secret.New([32]byte{1}), Noise: noisereduction.NoiseKey{ID: "test",
		Secret: secret.New([32]byte{2})}}
}

func msTime(millis int64) time.Time { return time.UnixMilli(millis) }
