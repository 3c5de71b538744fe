package commands

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"

	"github.com/tollgate-dp/tollgate/internal/hooks/crashpoint"
	"github.com/tollgate-dp/tollgate/internal/testing/await"
	"github.com/tollgate-dp/tollgate/internal/testing/fakeregistry"
)

const serves = "serve --config $C --listen 127.0.0.1:0"

var serveRemedies = []remedy{
	{texts: one("check deployment and outputs, and that tollgate init has created"), walk: func(w *walk) {
		w.configured()
		waits := w.begin(serves)
		w.await(waits)
		w.must(firstInit)
		says(w, &waits.stderr, "read all published values")
		waits.stop()
		for _, wrong := range []string{"deployment: shopp", "deployment: shop\noutputs: {turns: shop-turn}"} {
			w.edit("deployment: shop", wrong)
			waits = w.begin(serves)
			w.await(waits)
			waits.stop()
			w.edit(wrong, "deployment: shop")
			w.served(serves, "No value is published yet")
		}
	}},
	{texts: one("start tollgate serve again with the configuration in force"), walk: func(w *walk) {
		w.settled()
		w.vars["old"] = write(w, "tollgate.yaml", contentsOf(w.T, w.value("C")))
		old := strings.Replace(serves, "$C", "$old", 1)
		first := w.begin(old)
		w.edit("absolute: 30", "absolute: 40")
		w.must("change --config $C")
		w.must(untilFourth)
		w.await(first)
		first.stop()
		w.served(serves, "2025-03-04T00:00:00Z")
	}},
	{texts: one("name another counts topic (outputs.counts)"), walk: func(w *walk) {
		strict := fakeregistry.Start(w)
		strict.Add("shop-counts-value", `{"type":"string"}`)
		strict.Compatible(false)
		w.configured("shards: 4", "shards: 4\noutputs: {counts_format: avro, registry: {url: '"+strict.URL+"'}}")
		w.refused(firstInit)
		w.edit("counts_format: avro", "counts_format: avro, counts: own-counts")
		w.works(firstInit)

		w.edit("deployment: shop", "deployment: other", "counts: own-counts", "counts: shop-counts")
		w.ownKeys()
		w.refused("init --config $C --create-topics")
		strict.Compatible(true)
		w.works("init --config $C --create-topics")
		w.works("run --config $C --until 2025-03-01 --wait 1m")
	}},
}

// background is a command that runs while the walk goes on.
type background struct {
	*begun
	stop func() // ends it, and waits until it is over
}

// begin runs a command beside the walk.
func (w *walk) begin(line string) *background {
	w.Helper()
	ctx, cancel := context.WithCancel(crashpoint.With(context.Background(), w.hooks))
	b := beginUnder(ctx, w.environment, w.args(line)...)
	stop := sync.OnceFunc(func() {
		cancel()
		<-b.gone
	})
	w.Cleanup(stop)
	return &background{b, stop}
}

// await waits until a command that goes on has said one of the texts.
func (w *walk) await(b *background) {
	w.Helper()
	await.That(w, patience, "the command says one of the texts", func() bool { return !w.missing(b.stderr.String()) })
}

// served runs serve until its page or its values have a text. It says none of the texts.
func (w *walk) served(line, has string) {
	w.Helper()
	b := w.begin(line)
	defer b.stop()
	says(w, &b.stderr, "read all published values")
	base := regexp.MustCompile(`http://[0-9.:]+`).FindString(b.stderr.String())
	await.That(w, patience, "what is served has "+has, func() bool {
		for _, path := range []string{"/", "/v1/releases"} {
			answer, err := http.Get(base + path)
			if err != nil {
				w.Fatal(err)
			}
			body, err := io.ReadAll(answer.Body)
			answer.Body.Close() //nolint:errcheck // of a test
			if err != nil {
				w.Fatal(err)
			}
			if strings.Contains(string(body), has) {
				return true
			}
		}
		return false
	})
	for _, s := range w.texts {
		if s.printed.MatchString(b.stderr.String()) {
			w.Errorf("tollgate %s still says %q: %s", line, s.text, b.stderr.String())
		}
	}
}
