package commands

import (
	"io"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	html "github.com/tollgate-dp/tollgate/internal/app/report"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas"
)

// htmlEvery is how often a run without an end writes its page.
const htmlEvery = time.Minute

// page is the file of --report: an HTML page of released values, written whole or not at
// all, as often as wanted. Not safe for concurrent use.
type page struct {
	path    string
	options html.Options
	values  *html.Collector
	saved   time.Time
}

// openPage refuses a path that cannot be written.
func openPage(path string, d *pipeline.Deployment) (*page, error) {
	if err := cli.CheckOutput("--report", path, 0o644, html.Public); err != nil {
		return nil, err
	}
	return &page{path: path, values: html.NewCollector(d), saved: time.Now()}, nil
}

// describe sets title and source of the page, and notes on what its promise does not cover
// beside what follows from the deployment.
func (p *page) describe(title, source string, notes ...string) {
	p.options.Title, p.options.Source, p.options.Notes = title, source, notes
}

// add adds the releases of a turn, of a generation.
func (p *page) add(generation uint32, end time.Time, releases []schemas.Release) {
	p.options.Settled.Add(generation, end, end)
	for _, r := range releases {
		p.values.Add(r)
	}
}

// due reports whether the page is to be written again before the end.
func (p *page) due(now time.Time) bool { return now.Sub(p.saved) >= htmlEvery }

// save writes the page of everything that was added so far.
func (p *page) save() error {
	p.saved = time.Now()
	p.options.Generated = p.saved
	return cli.SaveOutput("--report", p.path, 0o644, func(w io.Writer) error { return p.values.Write(w, p.options) })
}
