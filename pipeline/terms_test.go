package pipeline

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas/event"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/transforms"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// fill gives every field of v a value, and the field at the path other another one.
func fill(t *testing.T, v reflect.Value, path, other string) {
	t.Helper()
	n := byte(1)
	if path == other {
		n = 2
	}
	switch to := v.Addr().Interface().(type) {
	case *secret.Of[string]:
		*to = secret.New(strings.Repeat("s", int(n)))
		return
	case *secret.Of[[32]byte]:
		*to = secret.New([32]byte{n})
		return
	case *deployment.Record:
		to.From = strings.Repeat("x", int(n))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i), strings.TrimPrefix(path+"."+v.Type().Field(i).Name, "."), other)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), path, other)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, v.Index(0), path, other)
	case reflect.Bool:
		v.SetBool(n == 2)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(n))
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(uint64(n))
	case reflect.Float64:
		v.SetFloat(float64(n))
	case reflect.String:
		v.SetString(strings.Repeat("x", int(n)))
	default:
		t.Fatalf("%s is a %s, which this test cannot fill", path, v.Type())
	}
}

func digests(t *testing.T, cfg deployment.Config) map[string]string {
	t.Helper()
	return must.Have(digestsOf(&deployment.Deployment{Config: cfg}))
}

// Every field of a configuration is in the digests except secrets, the paths of their files and of
// their certificates, which may be replaced during a run. The query of TokenURL can be a secret.
func TestRuleDigestsDependOnNoSecretNorOnTheWayToOne(t *testing.T) {
	filled := func(other string) (cfg deployment.Config) {
		fill(t, reflect.ValueOf(&cfg).Elem(), "", other)
		return cfg
	}
	left := []string{
		"Events.Registry.CAFile", "Events.Registry.Password", "Events.Registry.PasswordFile",
		"Kafka.SASL.Password", "Kafka.SASL.PasswordFile", "Kafka.SASL.TokenCAFile", "Kafka.SASL.TokenFile",
		"Kafka.SASL.TokenURL",
		"Kafka.TLS.CAFile", "Kafka.TLS.CertFile", "Kafka.TLS.KeyFile",
		"Keys.Noise.Secret", "Keys.UserHash",
		"Outputs.Registry.CAFile", "Outputs.Registry.Password", "Outputs.Registry.PasswordFile",
		"Record",
	}
	base, free := digests(t, filled("none")), []string{}
	for _, path := range leaves(reflect.TypeFor[deployment.Config](), "") {
		if maps.Equal(base, digests(t, filled(path))) {
			free = append(free, path)
		}
	}
	slices.Sort(free)
	if !slices.Equal(free, left) {
		t.Errorf("the digests do not depend on\n%q, want\n%q", free, left)
	}
}

// A cluster shows the terms. A reader of them who guesses a password cannot see that the guess is
// right.
func TestRuleNoPasswordCanBeGuessedFromTheTermsOfARun(t *testing.T) {
	compiled := func(password string) map[string]string {
		cfg := deploytest.Config("localhost:1")
		cfg.Kafka.SASL = &deployment.SASL{Mechanism: "plain", User: "ada", Password: secret.New(password)}
		cfg.Events.Format = event.Format{Format: "avro", User: "user", Key: "key", Time: "time"}
		cfg.Events.Registry = &deployment.Registry{URL: "http://registry", User: "ada", Password: secret.New(password)}
		d, err := deployment.Compile(cfg) // it gives the outputs the registry of the events
		if err != nil || d.Config.Outputs.Registry == nil {
			t.Fatal(d, err)
		}
		return digests(t, d.Config)
	}
	right := compiled("hunter2")
	for _, guess := range []string{"password", "hunter", "hunter3"} {
		if !maps.Equal(right, compiled(guess)) {
			t.Errorf("the digests tell hunter2 from %q", guess)
		}
	}
}

// A worker refuses a run with another configuration than the one that was submitted, with other
// keys than those in HEADER, and with another deployment on the brokers that it reaches.
func TestRuleAWorkerHasTheKeysAndTheConfigurationThatWereSubmitted(t *testing.T) {
	broker := deploytest.Start(t)
	d := deploy(t, deploytest.Config(broker.Addr()), time.Now(), 1)
	all := must.Have(digestsOf(d))
	ours := fmt.Sprintf("%x", [16]byte{1})
	cluster := must.Have(ClusterID(t.Context(), d))
	for name, c := range map[string]struct {
		edit        func(*deployment.Config)
		says        string // "": the run is opened
		incarnation string // incarnation of the run; "": the one on the brokers
		cluster     string // as well
	}{
		"the same":           {edit: func(*deployment.Config) {}},
		"another deployment": {func(*deployment.Config) {}, "has incarnation " + ours, strings.Repeat("02", 16), ""},
		"another cluster": {edit: func(*deployment.Config) {}, says: "the run is on elsewhere",
			cluster: "elsewhere"},
		"another time": {edit: func(c *deployment.Config) { c.Time.Skew += time.Second }, says: "Time"},
		"another noise key": {edit: func(c *deployment.Config) {
			c.Keys.Noise = noisereduction.NoiseKey{ID: "k1", Secret: secret.New([32]byte{9})}
		}, says: "noise key"},
		"another id of it": {edit: func(c *deployment.Config) {
			c.Keys.Noise = noisereduction.NoiseKey{ID: "k2", Secret: c.Keys.Noise.Secret}
		}, says: "Keys"},
		"another user-hash": {edit: func(c *deployment.Config) { c.Keys.UserHash = secret.New([32]byte{9}) },
			says: "the user-hash key"},
		"another events topic": {edit: func(c *deployment.Config) { c.Events.Topic = "other" }, says: "Events"},
	} {
		cfg := deploytest.Config(broker.Addr())
		c.edit(&cfg)
		submitted := &terms{Run: 1, ID: strings.Repeat("01", 16), Incarnation: cmp.Or(c.incarnation, ours),
			Cluster: cmp.Or(c.cluster, cluster), Config: "file", Digests: all}
		text := must.Have(submitted.encode())
		rt, err := openRun(transforms.Run{ID: submitted.ID, Terms: text}, func(string) (*Deployment, error) {
			return Compile(cfg)
		}, slog.New(slog.DiscardHandler))
		if rt != nil {
			if passed := rt.Fail(fmt.Errorf("a stage: %w", ErrLogFault)); !errors.Is(passed, ErrLogFault) ||
				!strings.HasPrefix(passed.Error(), "[tollgate:log-fault] ") {
				t.Errorf("%s: a stage's error travels as %v", name, passed)
			}
			rt.Close()
		}
		if c.says == "" && err != nil || c.says != "" && (!errors.Is(err, deployment.ErrHeaderMismatch) ||
			!strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "on every machine")) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}
