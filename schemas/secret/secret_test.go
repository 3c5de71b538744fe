package secret

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// Whatever prints a value that has a secret in it, in a field of any kind, shows nothing of the
// secret.
func TestRuleASecretIsNeverPrinted(t *testing.T) {
	const password, address = "hunter2", "http://alice:hunter2@flink:8081/x"
	key := New([4]byte{'h', 'u', 'n', 't'})
	type settings struct {
		Password Of[string]
		Pointer  *Of[string]
		Key      Of[[4]byte]
		URL      URL
		List     []Of[string]
		password Of[string]
		key      Of[[4]byte]
		url      URL
	}
	p := New(password)
	s := settings{Password: p, Pointer: &p, Key: key, URL: NewURL(address), List: []Of[string]{p}, password: p,
		key: key, url: NewURL(address)}
	shown := func(how, text string) {
		t.Helper()
		for _, part := range []string{"hunt", "alice", "68 75", "6875", "0x68", "104 117", "aHVudA"} {
			if strings.Contains(strings.ToLower(text), strings.ToLower(part)) {
				t.Errorf("%s: %q shows the secret", how, text)
			}
		}
	}
	for _, v := range []any{p, &p, key, s.URL, &s.URL, s, &s, s.List, map[string]any{"a": s}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "% x", "%X", "%d", "%p", "%T", "%c", "%U"} {
			shown(verb, fmt.Sprintf(verb, v)) //nolint:govet // every verb is tried
		}
		data, err := json.Marshal(v)
		shown("json", fmt.Sprint(string(data), err))
		data, err = yaml.Marshal(v)
		shown("yaml", fmt.Sprint(string(data), err))
		var log bytes.Buffer
		slog.New(slog.NewTextHandler(&log, nil)).Info("settings", "s", v)
		slog.New(slog.NewJSONHandler(&log, nil)).Info("settings", "s", v)
		shown("slog", log.String())
	}
	if p.Reveal() != password || key.Reveal() != [4]byte{'h', 'u', 'n', 't'} || s.URL.Reveal() != address {
		t.Error("the value is not what it was")
	}
	if !key.Equal(New(key.Reveal())) || key.Equal(New([4]byte{})) || !(Of[string]{}).Equal(New("")) {
		t.Error("Equal does not compare what is revealed")
	}
	if (Of[string]{}).Reveal() != "" || (URL{}).String() != "" {
		t.Error("the zero value holds something")
	}
}

func TestRedact(t *testing.T) {
	for address, want := range map[string]string{
		"joe:FLSE://CRET@host:8081":   Redacted + "@host:8081",
		"http://h:1/x?token=SECRET":   "http://h:1/x?" + Redacted,
		"http://a:b@h:1/?t=SECRET":    "http://" + Redacted + "@h:1/?" + Redacted,
		"http://h:1/?t=SECRET@b":      "http://" + Redacted + "@b",
		"":                            "",
		"http://flink:8081":           "http://flink:8081",
		"http://a:b@flink:8081/x":     "http://[redacted]@flink:8081/x",
		"http://a@flink":              "http://[redacted]@flink",
		"a:b@flink:8081":              "[redacted]@flink:8081",
		"http://a:b/c@d@flink:8081/x": "http://[redacted]@flink:8081/x",
		"a:b@http://flink":            "[redacted]@http://flink",
	} {
		if got := Redact(address); got != want {
			t.Errorf("Redact(%q) = %q, want %q", address, got, want)
		}
	}
}

func TestASecretIsALine(t *testing.T) {
	for text, want := range map[string]string{"\uFEFFa b \r\n": "a b ", "a\n\n": "a", "": ""} {
		if got := Line(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
