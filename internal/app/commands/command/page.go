package command

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

// Page is the file of --report: an HTML page of released values, written whole or not at
// all, as often as wanted. Not safe for concurrent use.
type Page struct {
	Path    string
	Options html.Options
	Values  *html.Collector
	saved   time.Time
}

// OpenPage refuses a path that cannot be written.
func OpenPage(path string, d *pipeline.Deployment) (*Page, error) {
	if err := cli.CheckOutput("--report", path, 0o644, html.PageKind{}); err != nil {
		return nil, err
	}
	return &Page{Path: path, Values: html.NewCollector(d), saved: time.Now()}, nil
}

// Describe sets title and source of the page, and notes on what its promise does not cover
// beside what follows from the deployment.
func (p *Page) Describe(title, source string, notes ...string) {
	p.Options.Title, p.Options.Source, p.Options.Notes = title, source, notes
}

// Add adds the releases of a turn, of a generation.
func (p *Page) Add(generation uint32, end time.Time, releases []schemas.Release) {
	p.Options.Settled.Add(generation, end, end)
	for _, r := range releases {
		p.Values.Add(r)
	}
}

// Due reports whether the page is to be written again before the end.
func (p *Page) Due(now time.Time) bool { return now.Sub(p.saved) >= htmlEvery }

// Save writes the page of everything that was added so far.
func (p *Page) Save() error {
	p.saved = time.Now()
	p.Options.Generated = p.saved
	return cli.SaveOutput("--report", p.Path, 0o644, func(w io.Writer) error { return p.Values.Write(w, p.Options) })
}
