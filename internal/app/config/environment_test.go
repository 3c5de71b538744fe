package config_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/config"
)

func TestVariablesAreReplaced(t *testing.T) {
	f, err := config.Load("testdata/variables.good.yml", config.Options{}, variables)
	if err != nil {
		t.Fatal(err)
	}
	c := f.Config()
	m := &c.Metrics[0]
	_, user := f.KeyFiles()
	if c.Events.Topic != "visits" || c.Privacy.Epsilon != 1 || m.Name != "views" || m.Window != time.Hour ||
		m.MaxKeysPerUser != 24 || !c.Time.AcceptFuture ||
		!slices.Equal(c.Kafka.Brokers, []string{"localhost:9092", "other:9092"}) || !slices.Equal(m.Keys.List,
		[]string{"costs $5", "$HOME"}) || user != filepath.Join("testdata", "user.key") {
		t.Errorf("%+v, %s", c, user)
	}
}

// withVariables returns an environment with some variables.
func withVariables(all map[string]string) config.Environment {
	return config.Environment{
		Get:   func(name string) string { return all[name] },
		Names: func() []string { return slices.Collect(maps.Keys(all)) },
	}
}

// A variable overrides a field of the file, whether the file sets it or not.
func TestVariablesOverrideFields(t *testing.T) {
	f, err := config.Parse("f.yaml", []byte(config.Minimal()), withVariables(map[string]string{
		"TOLLGATE__KAFKA__BROKERS": "a:1, b:2", "TOLLGATE__KAFKA__TLS": "true",
		"TOLLGATE__KAFKA__SASL__MECHANISM": "plain", "TOLLGATE__KAFKA__SASL__USER": "ada",
		"TOLLGATE__KAFKA__SASL__PASSWORD_ENV": "SECRET", "SECRET": "hunter2\r\n", "TOLLGATE__DEPLOYMENT": "other",
		"TOLLGATE__PRIVACY__EPSILON":                      "0.5",
		"TOLLGATE__METRICS__0__BOUNDS__MAX_KEYS_PER_USER": "7", "TOLLGATE__METRICS__0__WINDOW__SIZE": "2h",
		"TOLLGATE__TIME__LATENESS": "3m", "TOLLGATE_BROKER": "is another program's", "HOME": "/",
	}))
	if err == nil {
		err = f.Resolve(config.Options{MissingKeys: true})
	}
	if err == nil {
		_, err = f.Compile()
	}
	if err != nil {
		t.Fatal(err)
	}
	c := f.Config()
	m := &c.Metrics[0]
	if !slices.Equal(c.Kafka.Brokers, []string{"a:1", "b:2"}) || c.Kafka.TLS == nil || c.Kafka.SASL == nil ||
		c.Kafka.SASL.User != "ada" || c.Kafka.SASL.Password.Reveal() != "hunter2" ||
		c.Deployment != "other" || c.Privacy.Epsilon != 0.5 || m.MaxKeysPerUser != 7 || m.Window != 2*time.Hour ||
		c.Time.Lateness != 3*time.Minute {
		t.Errorf("%+v", c)
	}
}

// A wrong override is an error that names the variable and suggests a field.
func TestWrongOverridesAreRefused(t *testing.T) {
	for name, want := range map[string]string{
		"TOLLGATE__KAFKA__BROKER": "there is no field \"broker\" in kafka; did you mean brokers?",
		"TOLLGATE__KAFKA": "kafka has fields of its own: set one of them, as in " +
			"TOLLGATE__KAFKA__",
		"TOLLGATE__METRICS__VIEWS__WINDOW__SIZE": "metrics is a list: give the number of an entry, 0 for the first",
		"TOLLGATE__METRICS__7__SHARE":            "metrics[7].share: the file has no such entry",
		"TOLLGATE__PRIVACY__EPSILON":             "privacy.epsilon: \"x\" is not a number",
		"TOLLGATE__KAFKA__TLS":                   "kafka.tls: \"x\" is neither true nor false",
		"TOLLGATE__":                             "there is no field \"\" here",
		"TOLLGATE__EVENTS__FORMAT":               "events.format: \"x\" is not one of",
	} {
		f, err := config.Parse("f.yaml", []byte(config.Minimal()), withVariables(map[string]string{name: "x"}))
		if err == nil || !strings.HasPrefix(err.Error(), "the environment variable "+name+": ") ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
	// An error found by Compile names the variable, too, and not the line that it overrides.
	f, err := config.Parse("f.yaml", []byte(config.Minimal()),
		withVariables(map[string]string{"TOLLGATE__METRICS__0__TARGET__ABSOLUTE": "0.01"}))
	if err == nil {
		err = f.Resolve(config.Options{MissingKeys: true})
	}
	if err == nil {
		_, err = f.Compile()
	}
	if err == nil || !strings.Contains(err.Error(), "TOLLGATE__METRICS__0__TARGET__ABSOLUTE") {
		t.Errorf("%v", err)
	}
}

// A key in place of a name is refused and never shown, even if keys may be missing, and even if it
// comes from a variable.
func TestKeysInPlaceOfNamesAreNotShown(t *testing.T) {
	key := strings.Repeat("0123456789abcdef", 4)
	for variable, value := range map[string]string{
		"TOLLGATE__KEYS__NOISE__FILE": key, "TOLLGATE__KEYS__USER_HASH__FILE": "/run/secrets/" + key,
		"TOLLGATE__KEYS__NOISE__ENV": key, "TOLLGATE__KEYS__USER_HASH__ENV": " 0x" + strings.ToUpper(key) + " ",
	} {
		body := config.Minimal()
		if strings.HasSuffix(variable, "ENV") {
			body = strings.NewReplacer("{file: noise.key}", "{env: NAME}", "{file: user-hash.key}",
				"{env: NAME}").Replace(body)
		}
		f, err := config.Parse("f.yaml", []byte(body), withVariables(map[string]string{variable: value}))
		if err == nil {
			err = f.Resolve(config.Options{MissingKeys: true})
			t.Errorf("%s: accepted: missing %q", variable, f.Missing)
		}
		if err == nil || strings.Contains(strings.ToLower(err.Error()), key[:16]) || !strings.Contains(err.Error(),
			"the key itself") {
			t.Errorf("%s: %v", variable, err)
		}
	}
}
