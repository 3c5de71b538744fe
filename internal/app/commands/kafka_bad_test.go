package commands

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/commands/commandtest"
	"github.com/tollgate-dp/tollgate/internal/app/keyfile"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
)

// As TestBadCommandLines, for the commands that work with Kafka.
func TestBadKafkaCommandLines(t *testing.T) {
	t.Parallel()
	csv := commandtest.Write(t, "events.csv", "user,page,when\nu1,a,2025-03-03T00:00:00Z\n")
	unreachable := commandtest.DeploymentFile(t, "127.0.0.1:1")
	wrong := commandtest.DeploymentFile(t, "127.0.0.1:1", "window:", "windw:")
	impossible := commandtest.DeploymentFile(t, "127.0.0.1:1", "absolute: 30", "absolute: 0.1")
	mixed := commandtest.DeploymentFile(t, "127.0.0.1:1", "{file: secrets/noise.key}", "{env: NOISE}")
	environment := commandtest.DeploymentFile(t, "127.0.0.1:1", "{file: secrets/noise.key}", "{env: NOISE}",
		"{file: secrets/user-hash.key}", "{env: USER_HASH}")
	for _, tc := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"init without a file", []string{"init"}, 2, "--config is needed"},
		{"init before 1970", []string{"init", "--config", wrong, "--start", "1969-01-01"}, 2, "before 1970"},
		{"change by nobody", []string{"change", "--config", wrong, "--by", "Ada"}, 2, "give --by and --why"},
		{"forget with the id as the reason", []string{"forget", "u1", "--config", unreachable, "--by", "Ada", "--why",
			"remove u1, u12"}, 2, "--by and --why must not name the user"},
		{"forget with an id that a number contains", []string{"forget", "11", "--config", unreachable, "--by", "Ada",
			"--why", "request 111"}, 3, "there is no file"},
		{"replication without topics", []string{"init", "--config", wrong, "--replication", "3"}, 2,
			"are only used with --create-topics"},
		{"keys from the environment", []string{"init", "--config", environment, "--generate-keys"}, 2,
			"names none under keys"},
		{"one key from the environment", []string{"init", "--config", mixed, "--generate-keys"}, 3, "NOISE"},
		{"init of a wrong file", []string{"init", "--config", wrong}, 3, "did you mean window?"},
		{"init without keys", []string{"init", "--config", unreachable}, 3,
			"make it with tollgate init --generate-keys"},

		{"run without a file", []string{"run"}, 2, "--config is needed"},
		{"wait without an end", []string{"run", "--config", wrong, "--wait", "1m"}, 2,
			"--wait is only used with --until-end"},
		{"two ends", []string{"run", "--config", wrong, "--until-end", "--until", "now"}, 2, "choose one"},
		{"wait for a broker backwards", []string{"run", "--config", wrong, "--wait-for-broker", "-1s"}, 2,
			`--wait-for-broker is "-1s"`},
		{"no address", []string{"run", "--config", unreachable, "--listen", ""}, 2, "--listen is empty"},
		{"metrics without an address", []string{"run", "--config", unreachable, "--metrics-trusted"}, 2,
			"only used with --listen"},
		{"profiles without an address", []string{"run", "--config", unreachable, "--pprof"}, 2,
			"only used with --listen"},
		{"serve without a port", []string{"serve", "--config", unreachable, "--listen", "8080"}, 2,
			"--listen must be host:port"},
		{"serve nothing", []string{"serve", "--config", unreachable, "--keep", "0"}, 2, "must be at least 1"},
		{"serve nobody", []string{"serve", "--config", unreachable, "--max-clients", "-1"}, 2, "must be at least 1"},
		{"serve without a pause", []string{"serve", "--config", unreachable, "--refresh", "1ms"}, 2, "at least 100ms"},
		{"run of a wrong file", []string{"run", "--config", wrong}, 3, "tollgate.yaml:"},

		{"validate a wrong file", []string{"validate", "--config", wrong}, 3, "did you mean window?"},
		{"validate what cannot be paid", []string{"validate", "--offline", "--config", impossible}, 3,
			"finer than a user's allowance pays for"},

		{"replay nothing", []string{"replay", "--config", unreachable}, 2, `"input" not set`},
		{"replay of another format", []string{"replay", "--config", unreachable, "--input", csv, "--input-format",
			"jsonl"}, 2, "events.format in the configuration is csv"},
		{"a broker without a port", []string{"validate", "--offline", "--config", commandtest.DeploymentFile(t,
			"localhost")}, 3, `tollgate.yaml:3:19: kafka.brokers[0]: "localhost" has no port`},
		{"replay to unreachable brokers", []string{"replay", "--config", unreachable, "--input", csv}, 1,
			"127.0.0.1:1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			code, stdout, stderr := tollgate(t, tc.args...)
			if code != tc.code {
				t.Errorf("exit %d, want %d", code, tc.code)
			}
			if stdout != "" {
				t.Errorf("stdout %q", stdout)
			}
			if !strings.Contains(stderr, tc.want) || !strings.Contains(stderr, "error: ") && !strings.Contains(stderr,
				`"ERROR"`) {
				t.Errorf("stderr %q does not say %q", stderr, tc.want)
			}
		})
	}
}

func TestKeysAreMadeOnceAndForTheOwnerOnly(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "deep", "key")
	made, err := keyfile.Make(path)
	if err != nil || !made {
		t.Fatal(made, err)
	}
	before := must.Have(os.ReadFile(path))
	made, err = keyfile.Make(path)
	after, err2 := os.ReadFile(path)
	if made || err != nil || err2 != nil || len(before) < 64 || string(before) != string(after) {
		t.Errorf("made %v again, %v %v", made, err, err2)
	}
}
