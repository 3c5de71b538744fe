package flink

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/schemas/secret"
)

// If the cluster is too small, a submission ends before it replaces another job. Slots of other
// jobs count, because the submission may replace those jobs.
func TestCheckLooksAtTheSlotsOfTheCluster(t *testing.T) {
	var slots atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"flink-version": "1.19.0", "slots-total": %d, "slots-available": 0}`, slots.Load())
	}))
	t.Cleanup(server.Close)
	slots.Store(4)
	if err := Check(t.Context(), Options{URL: secret.NewURL(server.URL), Parallelism: 4}); err != nil {
		t.Errorf("Check = %v, with as many slots as the parallelism", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := Check(ctx, Options{URL: secret.NewURL(server.URL), Parallelism: 5}); !errors.Is(err,
		context.DeadlineExceeded) {
		t.Errorf("Check = %v; want it to wait for a TaskManager that is on its way", err)
	}
	time.AfterFunc(time.Second, func() { slots.Store(5) })
	if err := Check(t.Context(), Options{URL: secret.NewURL(server.URL), Parallelism: 5}); err != nil {
		t.Errorf("Check = %v, after a TaskManager has come", err)
	}
}

func TestCheckNamesAnAddressThatIsNone(t *testing.T) {
	for _, address := range []string{"", "localhost:8081", "ftp://localhost:8081", "http://",
		"http://localhost:8081/?token=hunter2"} {
		if err := Check(t.Context(), Options{URL: secret.NewURL(address), Parallelism: 1}); !errors.Is(err,
			ErrAddress) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("Check of %q = %v, want ErrAddress", address, err)
		}
	}
}

// User and password of the address are sent, and are in no error and no print.
func TestRuleThePasswordOfAJobManagerIsNotPrinted(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "alice" || password != "hunter2" {
			t.Errorf("user %q and password %q came", user, password)
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	defer server.Close()
	closed := httptest.NewServer(nil)
	closed.Close()
	for _, address := range []string{server.URL, closed.URL, "http://a host", "ftp://host", "host:8081",
		"http://host:port"} {
		scheme, rest, ok := strings.Cut(address, "://")
		if !ok {
			scheme, rest = "", address
		} else {
			scheme += "://"
		}
		o := Options{URL: secret.NewURL(scheme + "alice:hunter2@" + rest), Parallelism: 1}
		err := Check(t.Context(), o)
		text := fmt.Sprintf("%v %+v %#v", err, o, o)
		if err == nil || strings.Contains(text, "alice") || strings.Contains(text, "hunter2") ||
			!strings.Contains(text, rest) {
			t.Errorf("%s: %s", address, text)
		}
	}
}
