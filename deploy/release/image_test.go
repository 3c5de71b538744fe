package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// load reads an archive as clients of registries do, and checks every digest.
func load(t *testing.T, data []byte, tag string) v1.Image {
	t.Helper()
	ref, err := name.NewTag(tag)
	ok(t, err)
	image, err := tarball.Image(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }, &ref)
	ok(t, err)
	ok(t, validate.Image(image))
	return image
}

func TestTheImageIsTheDockerfiles(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "image", "Dockerfile"))
	ok(t, err)
	files := fstest.MapFS{"tollgate": {Data: []byte("a program"), Mode: 0o600, ModTime: time.Now()}}
	tags := []string{"tollgate/tollgate:v1", "tollgate/tollgate:latest"}
	arguments := map[string]string{"VERSION": "v1.2.3", "REVISION": "abc"}
	data, err := build(text, files, "arm64", tags, arguments)
	ok(t, err)
	for _, tag := range tags {
		image := load(t, data, tag)
		c, err := image.ConfigFile()
		ok(t, err)
		got := c.Config
		if c.OS != "linux" || c.Architecture != "arm64" || got.User != "65532:65532" || got.StopSignal != "SIGTERM" ||
			strings.Join(got.Entrypoint, " ") != "/tollgate" || got.Cmd[0] != "run" || len(got.ExposedPorts) != 2 ||
			strings.Join(got.Healthcheck.Test, " ") != "CMD /tollgate probe --url http://localhost:9464/-/healthy" ||
			got.Healthcheck.Interval != 5*time.Second ||
			strings.Join(got.Env, " ") != "PATH=/ USER=tollgate HOME=/" ||
			got.Labels["org.opencontainers.image.title"] != "tollgate" ||
			got.Labels["org.opencontainers.image.version"] != "v1.2.3" ||
			got.Labels["org.opencontainers.image.revision"] != "abc" {
			t.Errorf("%+v", c)
		}
		archived := mutate.Extract(image)
		all, err := io.ReadAll(archived)
		ok(t, err)
		ok(t, archived.Close())
		if !bytes.Contains(all, []byte("a program")) || bytes.Count(all, []byte("ustar")) != 1 {
			t.Errorf("the layer is not one file: %d bytes", len(all))
		}
	}
	files["tollgate"] = &fstest.MapFile{Data: []byte("a program"), Mode: 0o755, ModTime: time.Unix(1, 0)}
	if again, err := build(text, files, "arm64", tags, arguments); err != nil || !bytes.Equal(again, data) {
		t.Errorf("modes and times of files change the image: %v", err)
	}
	files["tollgate"].Data = []byte("A program")
	if other, err := build(text, files, "arm64", tags, arguments); err != nil || bytes.Equal(other, data) {
		t.Errorf("another program is the same image: %v", err)
	}
}

func TestNothingInADockerfileIsPassedOver(t *testing.T) {
	files := fstest.MapFS{"tollgate": {Data: []byte("a program")}}
	for text, want := range map[string]string{
		"FROM debian\n": "FROM scratch", "FROM scratch\nFROM scratch\n": "one stage",
		"ARG A\nFROM scratch\n": "no ARG before it",
		"FROM scratch\nRUN a\n": "line 2: RUN", "FROM scratch\nADD a /r\n": "ADD is not",
		"FROM scratch\nWORKDIR /b\n": "WORKDIR is not supported", "FROM scratch\nCOPY tollgate /bin/\n": "one file",
		"FROM scratch\nCOPY --chown=1:1 tollgate /r\n": "owner 0:0",
		"FROM scratch\nCOPY tollgate tollgate /r/\n":   "one file", "FROM scratch\nCOPY gone /r\n": "gone",
		"FROM scratch\nENTRYPOINT tollgate\n": "no shell", "FROM scratch\nCMD tollgate\n": "no shell",
		"FROM scratch\nCOPPY a b\n": "unknown instruction", "": "parsing",
		"FROM scratch\nCOPY --from=x tollgate /r\n": "one file",
		"FROM scratch\nARG A=b\n":                   "line 2: ARG A has no value: give --arg A=",
	} {
		if _, err := build([]byte(text), files, "amd64", []string{"a:b"}, nil); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
