package report

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// averaged has a metric of the kind with the values in events, and a mean beside it. Keys with
// larger values have smaller means.
func averaged(kind string, events map[string]float64) sample {
	r := rand.New(rand.NewPCG(13, 14)) // fixed seed: a made-up page, the same in every picture
	of := facts("amount", kind, pipeline.KeysPublic, hour, hour)
	mean := facts("amount.mean", metrickind.AlsoKind(metrickind.Mean).Name, pipeline.KeysPublic, hour, hour)
	mean.Of = of.Name
	s := sample{promise: promiseFor(of, mean)}
	for i := range 2 {
		for key, n := range events {
			at := monday + int64(i)*hour
			s.releases = append(s.releases, released(r, of.Name, key, at, hour, n), released(r, mean.Name, key, at, hour, 1e7/n))
		}
	}
	return s
}

// The keys of a statistic are as large as those of its metric, so all charts of a metric begin with
// the same keys. For a metric of variances, the size of a key is its mean variance, however often
// it was released.
func TestTheKeysOfStatisticsAreAsLargeAsThoseOfTheirMetric(t *testing.T) {
	t.Parallel()
	events := map[string]float64{"a": 1000, "b": 6000, "c": 3000, "d": 12000}
	for kind, want := range map[string]struct {
		what  string
		times float64
	}{metrickind.Quantiles: {"number of events", 2}, metrickind.Variance: {"variance", 1}} {
		view := viewOf(t, averaged(kind, events))
		var data struct {
			Metrics []struct {
				Sized string
				Keys  []struct {
					Key  string
					Size float64
				}
			}
		}
		if err := json.Unmarshal(view.Data, &data); err != nil {
			t.Fatal(err)
		}
		if own, mean := data.Metrics[0], data.Metrics[1]; own.Sized != "" || mean.Sized != want.what || len(mean.Keys) != len(events) {
			t.Errorf("%s: keys are as large as their %q, those of means as their %q", kind, own.Sized, mean.Sized)
		}
		for _, k := range data.Metrics[1].Keys {
			if n := want.times * events[k.Key]; k.Size < 0.8*n || k.Size > 1.2*n {
				t.Errorf("%s: %s has %g of %g", kind, k.Key, k.Size, n)
			}
		}
	}
}

func TestChartsOfStatisticsInABrowserBeginWithTheSameKeys(t *testing.T) {
	browser(t)
	b := browse(t, render(t, averaged(metrickind.Quantiles, map[string]float64{
		"a": 1000, "b": 6000, "c": 3000, "d": 12000, "e": 48000, "f": 24000, "g": 96000,
	}), MaxPoints, written), desktop, "light")
	var seen struct {
		Errors         string
		Shown, Legends []string
	}
	b.eval(`({
		errors: document.documentElement.dataset.errors,
		shown: [...document.querySelectorAll(".chart")].map((box) => [...box.querySelectorAll(".keys input:checked ~ .name")].map((e) => e.textContent).join("")),
		legends: [...document.querySelectorAll(".chart legend")].map((e) => e.textContent),
	})`, &seen)
	if diff := cmp.Diff([]string{"gefdb", "gefdb"}, seen.Shown); diff != "" || seen.Errors != "0" {
		t.Errorf("%s errors; %s", seen.Errors, diff)
	}
	if len(seen.Legends) != 2 || !strings.HasSuffix(seen.Legends[1], "7 keys, number of events") {
		t.Errorf("%q", seen.Legends)
	}
}
