package commands

import (
	"bytes"
	"compress/gzip"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/commands/commandtest"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
)

// The standard input is a file: demo and plan read it, whatever it is compressed with.
func TestTheStandardInputIsAFile(t *testing.T) {
	t.Parallel()
	text := must.Have(os.ReadFile(commandtest.People(t)))
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	must.Succeed(t, w.Close())
	flags := []string{"--input", "-", "--input-format", "csv", "--header", "--user-field", "who", "--key-field",
		"where", "--time-field", "when", "--window", "24h"}
	for name, want := range map[string]string{"demo": "every record is accounted for",
		"plan": "4,000 events"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestProcess$")
		cmd.Env = append(os.Environ(), processVariable+"="+strings.Join(append([]string{name}, flags...), "\n"))
		cmd.Stdin = bytes.NewReader(packed.Bytes())
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v, %s", name, err, out)
		}
	}
}
