package realflink_test

import (
	"archive/zip"
	"errors"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const scripts = "../../../deploy/flink"

// Every replacement must find its text, so that a class of another version is not built.
func TestAPatchThatFindsNothingFails(t *testing.T) {
	for _, tool := range []string{"jar", "javac"} {
		if _, err := exec.LookPath(tool); err != nil && os.Getenv("TOLLGATE_REQUIRE_FLINK") != "1" {
			t.Skipf("%s is not in the path: a JDK has it", tool)
		}
	}
	const beam = "org/apache/beam/runners/"
	checkpoints := []string{
		"String id = idGenerator.getId();",
		"residual.getRequestedTimeDelay().getSeconds() * 1000",
		"outputWatermark.getSeconds() * 1000",
	}
	operator := []string{
		"@SuppressFBWarnings",
		"public void onProcessingTime(\nfireTimerInternal(timer);\n  }",
		"private void processInputWatermark(\ntimeServiceManager.advanceWatermark(mark);\n  }",
	}
	for _, c := range []struct {
		class string
		texts []string
		left  int // index of the text that the source lacks
	}{
		{beam + "fnexecution/control/BundleCheckpointHandlers", checkpoints, 0},
		{beam + "fnexecution/control/BundleCheckpointHandlers", checkpoints, 1},
		{beam + "fnexecution/control/BundleCheckpointHandlers", checkpoints, 2},
		{beam + "flink/translation/wrappers/streaming/DoFnOperator", operator, 0},
		{beam + "flink/translation/wrappers/streaming/DoFnOperator", operator, 1},
		{beam + "flink/translation/wrappers/streaming/DoFnOperator", operator, 2},
		{beam + "flink/translation/wrappers/streaming/state/FlinkStateInternals",
			[]string{"watermarkHoldsMap.put(state);"}, 0},
	} {
		class, texts, left := c.class, c.texts, c.left
		t.Run(texts[left], func(t *testing.T) {
			dir := t.TempDir()
			jar := filepath.Join(dir, "sources.jar")
			var source strings.Builder
			for i, text := range texts {
				if i != left {
					source.WriteString(text + "\n")
				}
			}
			file, err := os.Create(jar)
			ok(t, err)
			z := zip.NewWriter(file)
			w, err := z.Create(class + ".java")
			ok(t, err)
			_, err = w.Write([]byte(source.String()))
			ok(t, errors.Join(err, z.Close(), file.Close()))
			out := filepath.Join(dir, "patch.jar")
			output, err := exec.Command(filepath.Join(scripts, "patch-class.sh"), path.Base(class), jar, dir,
				out).CombinedOutput()
			name := regexp.MustCompile(`\w{10,}`).FindString(texts[left])
			if err == nil || !strings.Contains(string(output), "holds nothing that this replaces") ||
				!strings.Contains(string(output), name) {
				t.Errorf("%v: %q; want an error about the replacement of %q", err, output, texts[left])
			}
			if _, err := os.Stat(out); err == nil {
				t.Error("a jar was made")
			}
		})
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
