package deployfiles

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// copyTree copies what git knows of the tree, as it is now, to a directory that is no git tree.
func copyTree(t *testing.T, to string) {
	t.Helper()
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = "../../.."
	names, err := list.Output()
	ok(t, err)
	for name := range strings.SplitSeq(strings.TrimRight(string(names), "\x00"), "\x00") {
		info, err := os.Stat(filepath.Join(list.Dir, name))
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted, and not committed yet
		}
		ok(t, err)
		data, err := os.ReadFile(filepath.Join(list.Dir, name))
		ok(t, err)
		ok(t, os.MkdirAll(filepath.Join(to, filepath.Dir(name)), 0o755))
		ok(t, os.WriteFile(filepath.Join(to, name), data, info.Mode().Perm()))
	}
}

// release makes one in a copy of the tree, for the platform of the image.
func release(t *testing.T, tree string, environment ...string) (dist string) {
	t.Helper()
	copyTree(t, tree)
	cmd := exec.Command("deploy/release/build.sh", "--targets", "linux/amd64", "--engines", "direct", "--version", "v1.2.3", "--revision", "0123abcd")
	cmd.Dir = tree
	cmd.Env = append(os.Environ(), environment...)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	return filepath.Join(tree, "dist")
}

// Two releases of one source are the same bytes: in directories of different lengths, the second
// with an empty cache of builds, and with flags and another time zone in the environment.
func TestAReleaseIsTheSameBytesEverywhere(t *testing.T) {
	one := release(t, filepath.Join(t.TempDir(), "a"))
	cold := filepath.Join(t.TempDir(), "cache")
	two := release(t, filepath.Join(t.TempDir(), "another", "directory"), "GOCACHE="+cold, "GOFLAGS=-tags=flink", "TZ=Asia/Tokyo", "GOAMD64=v3")
	sums, err := os.ReadFile(filepath.Join(one, "SHA256SUMS"))
	ok(t, err)
	for _, dist := range []string{one, two} {
		check := exec.Command("sha256sum", "--check", "--strict")
		check.Dir, check.Stdin = dist, bytes.NewReader(sums) // those of the first
		if said, err := check.CombinedOutput(); err != nil || bytes.Count(said, []byte(": OK\n")) != 3 {
			t.Errorf("%s: %v: %s", dist, err, said)
		}
	}
	checkList(t, filepath.Join(one, "tollgate-linux-amd64.cdx.json"))
	checkImage(t, filepath.Join(one, "image-amd64.tar"), filepath.Join(one, "tollgate-linux-amd64"))
}

// checkList sees that the list of modules has those of go version -m, with version and hash.
func checkList(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	ok(t, err)
	var list struct {
		BomFormat, SpecVersion, SerialNumber string
		Metadata                             struct {
			Timestamp string
			Component struct{ Name, Version string }
		}
		Components []struct {
			Name, Version string
			Hashes        []struct{ Alg, Content string }
		}
	}
	ok(t, json.Unmarshal(text, &list))
	if list.BomFormat != "CycloneDX" || list.SpecVersion != "1.6" || list.SerialNumber != "" || list.Metadata.Timestamp != "" || list.Metadata.Component.Version != "v1.2.3" {
		t.Errorf("%+v", list.Metadata)
	}
	has := map[string]bool{}
	for _, c := range list.Components {
		has[c.Name+" "+c.Version] = c.Name == "std" || len(c.Hashes) > 0
	}
	said, err := exec.Command("go", "version", "-m", strings.TrimSuffix(path, ".cdx.json")).Output()
	ok(t, err)
	modules := regexp.MustCompile(`(?m)^\tdep\t(\S+)\t(\S+)`).FindAllStringSubmatch(string(said), -1)
	for _, m := range modules {
		if !has[m[1]+" "+m[2]] {
			t.Errorf("the list lacks %s %s, or its hash", m[1], m[2])
		}
	}
	if len(modules) < 20 {
		t.Errorf("only %d modules", len(modules))
	}
}

// checkImage runs the image's one file as an engine would: as its only file, as the image's user
// and with its environment.
func checkImage(t *testing.T, path, program string) {
	t.Helper()
	blobs := map[string][]byte{}
	unpack(t, path, func(name string, data []byte) { blobs[name] = data })
	var manifest []struct {
		Config   string
		RepoTags []string
		Layers   []string
	}
	ok(t, json.Unmarshal(blobs["manifest.json"], &manifest))
	var config struct {
		Config struct {
			User            string
			Env, Entrypoint []string
		} `json:"config"`
	}
	ok(t, json.Unmarshal(blobs[manifest[0].Config], &config))
	root := t.TempDir()
	layer := filepath.Join(t.TempDir(), "layer.tar")
	ok(t, os.WriteFile(layer, blobs[manifest[0].Layers[0]], 0o600))
	unpack(t, layer, func(name string, data []byte) { ok(t, os.WriteFile(filepath.Join(root, name), data, 0o555)) })
	want, err := os.ReadFile(program)
	ok(t, err)
	if got, err := os.ReadFile(filepath.Join(root, "tollgate")); err != nil || !bytes.Equal(got, want) || strings.Join(manifest[0].RepoTags, " ") != "tollgate/tollgate:v1.2.3 tollgate/tollgate:latest" {
		t.Errorf("%v: the image has another program: %+v", err, manifest)
	}
	if os.Getuid() != 0 || config.Config.User != "65532:65532" {
		t.Logf("not run: that needs root")
		return
	}
	ok(t, os.Chmod(root, 0o555))
	for _, args := range [][]string{{"version"}, {"demo", "--users", "2000"}} {
		cmd := exec.Command(config.Config.Entrypoint[0], args...)
		cmd.Dir, cmd.Env = "/", config.Config.Env
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
		said, err := cmd.CombinedOutput()
		if err != nil || args[0] == "version" && (!bytes.Contains(said, []byte("v1.2.3")) || !bytes.Contains(said, []byte("0123abcd"))) {
			t.Errorf("%v: %v: %s", args, err, said)
		}
	}
}

// unpack hands on the files of an archive.
func unpack(t *testing.T, path string, to func(name string, data []byte)) {
	t.Helper()
	f, err := os.Open(path)
	ok(t, err)
	defer func() { ok(t, f.Close()) }()
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		ok(t, err)
		if h.Typeflag != tar.TypeReg {
			continue
		}
		data, err := io.ReadAll(r)
		ok(t, err)
		to(h.Name, data)
	}
}
