package plain

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/units"
)

func TestNewRefuses(t *testing.T) {
	for name, change := range map[string]func(*Settings){
		"no window":              func(s *Settings) { s.Window = 0 },
		"half a second":          func(s *Settings) { s.Window += time.Second / 2 },
		"unaligned":              func(s *Settings) { s.From = s.From.Add(time.Second) },
		"no windows":             func(s *Settings) { s.To = s.From },
		"too many windows":       func(s *Settings) { s.To = s.From.Add(2_000_000 * time.Hour) },
		"no budget":              func(s *Settings) { s.Budget = budgets.Budget{} },
		"no incarnation":         func(s *Settings) { s.Incarnation = [16]byte{} },
		"no metrics":             func(s *Settings) { s.Metrics = nil },
		"a name twice":           func(s *Settings) { s.Metrics[1].Name = s.Metrics[0].Name },
		"no name":                func(s *Settings) { s.Metrics[0].Name = "" },
		"kind":                   func(s *Settings) { s.Metrics[0].Kind = "sum" },
		"too many shares":        func(s *Settings) { s.Metrics[0].Share, s.Metrics[1].Share = 0.7, 0.7 },
		"no burst":               func(s *Settings) { s.Metrics[0].Burst = -1 },
		"no sigma":               func(s *Settings) { s.Metrics[0].Sigma = 0 },
		"sigma NaN":              func(s *Settings) { s.Metrics[0].Sigma = math.NaN() },
		"confidence":             func(s *Settings) { s.Metrics[0].Confidence = 1 },
		"confidence NaN":         func(s *Settings) { s.Metrics[0].Confidence = math.NaN() },
		"no δ":                   func(s *Settings) { s.Budget.Keys = units.Delta{} },
		"no δ in the budget":     func(s *Settings) { s.Budget.Keys = units.Delta{} },
		"a key too long":         func(s *Settings) { s.Metrics[0].PublicKeys = []string{strings.Repeat("k", 600)} },
		"a key that is not text": func(s *Settings) { s.Metrics[0].PublicKeys = []string{"\xff"} },
	} {
		s := testSettings(t, 2)
		change(&s)
		if _, err := New(s, testEnvironment()); !errors.Is(err, ErrSettings) {
			t.Errorf("%s: error %v, want ErrSettings", name, err)
		}
	}
	if _, err := New(testSettings(t, 2), nil); !errors.Is(err, ErrSettings) {
		t.Error("no secrets:", err)
	}
}

func TestSecretsAreCheckedAndNeverQuoted(t *testing.T) {
	good := strings.Repeat("ab", 32)
	for name, test := range map[string]struct{ users, noise string }{
		"missing":    {"", good},
		"too short":  {good[2:], good},
		"no digits":  {strings.Repeat("secret", 10) + "xxxx", good},
		"zeros":      {strings.Repeat("00", 32), good},
		"one secret": {good, good},
	} {
		t.Setenv("PLAIN_T_USERS", test.users)
		t.Setenv("PLAIN_T_NOISE", test.noise)
		_, err := Environment{UserHash: "PLAIN_T_USERS", Noise: "PLAIN_T_NOISE"}.Open(t.Context())
		if !errors.Is(err, ErrSettings) || strings.Contains(err.Error(), "secretsecret") ||
			strings.Contains(err.Error(), "abab") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
