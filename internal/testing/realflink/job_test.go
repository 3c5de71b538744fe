package realflink_test

import (
	"bytes"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/await"
	"github.com/tollgate-dp/tollgate/internal/testing/realflink"
)

// call asks REST; a status that is not 200 fails the test.
func call(t *testing.T, method, url, kind string, body io.Reader, into any) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, body)
	ok(t, err)
	request.Close = true
	request.Header.Set("Content-Type", kind)
	answer, err := http.DefaultClient.Do(request)
	ok(t, err)
	defer func() { _ = answer.Body.Close() }()
	said, err := io.ReadAll(answer.Body)
	ok(t, err)
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s: %s", url, answer.Status, said)
	}
	ok(t, json.Unmarshal(said, into))
}

// submit compiles testdata/Job.java and runs it at a parallelism; it returns the job's id.
func submit(t *testing.T, c *realflink.Cluster, parallelism string) string {
	t.Helper()
	dir := t.TempDir()
	classpath, err := exec.Command(filepath.Join(scripts, "cluster"), "classpath").Output()
	ok(t, err)
	for _, args := range [][]string{
		{"javac", "-nowarn", "-proc:none", "-cp", strings.TrimSpace(string(classpath)), "-d", filepath.Join(dir, "classes"), "testdata/Job.java"},
		{"jar", "cf", filepath.Join(dir, "job.jar"), "-C", filepath.Join(dir, "classes"), "."},
	} {
		if said, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", args, err, said)
		}
	}
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {`form-data; name="jarfile"; filename="job.jar"`}, "Content-Type": {"application/x-java-archive"},
	})
	ok(t, err)
	jar, err := os.ReadFile(filepath.Join(dir, "job.jar"))
	ok(t, err)
	_, err = part.Write(jar)
	ok(t, err)
	ok(t, form.Close())
	var uploaded struct{ Filename string }
	call(t, http.MethodPost, c.URL()+"/jars/upload", form.FormDataContentType(), &body, &uploaded)
	var job struct{ JobID string }
	call(t, http.MethodPost, c.URL()+"/jars/"+filepath.Base(uploaded.Filename)+"/run", "application/json",
		strings.NewReader(`{"entryClass": "Job", "parallelism": `+parallelism+`}`), &job)
	return job.JobID
}

// A supervisor may take its time, also in a cluster that is older than a request for slots may
// wait: by default every request is refused at once then, and the job has FAILED within 15 s.
func TestAJobWaitsForATaskManagerThatComesBack(t *testing.T) {
	c := start(t, realflink.Options{TaskManagers: 2, Slots: 1, Settings: map[string]string{
		"slot.request.timeout":  "8000",
		"restart-strategy.type": "failure-rate", // this job brings none of its own
		"restart-strategy.failure-rate.max-failures-per-interval": "30",
		"restart-strategy.failure-rate.failure-rate-interval":     "2 min",
	}})
	born := time.Now()
	job := submit(t, c, "2")
	running := func() bool {
		var page struct {
			State    string
			Vertices []struct{ Status string }
		}
		call(t, http.MethodGet, c.URL()+"/jobs/"+job, "", nil, &page)
		if page.State == "FAILED" {
			t.Fatal("the job has failed for good")
		}
		for _, v := range page.Vertices {
			if v.Status != "RUNNING" {
				return false
			}
		}
		return true
	}
	await.That(t, time.Minute, "all tasks run", running)
	await.That(t, time.Minute, "the cluster is older than a request may wait", func() bool { return time.Since(born) > 9*time.Second })
	c.KillTaskManager(0)
	killed := time.Now()
	await.That(t, time.Minute, "the supervisor is slow", func() bool { return !running() && time.Since(killed) > 16*time.Second })
	ok(t, c.RestartTaskManager(t.Context(), 0))
	await.That(t, time.Minute, "all tasks run again", running)
}
