package command

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/outfile"
	html "github.com/tollgate-dp/tollgate/internal/app/report"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas"
)

// NamedFile is a file and the flag that names it; or the configuration does.
type NamedFile struct{ By, Path string }

// Reports returns the files of --report and --trusted-report.
func Reports(page, trusted string) []NamedFile {
	return []NamedFile{{"--report", page}, {"--trusted-report", trusted}}
}

// CheckOverwrite returns an error if an output would overwrite an input or another output: the
// exact tallies must not replace the page that is meant for publication.
func CheckOverwrite(outputs []NamedFile, inputs ...NamedFile) error {
	for i, out := range outputs {
		for _, in := range slices.Concat(outputs[:i], inputs) {
			if out.Path != "" && in.Path != "" && outfile.Same(out.Path, in.Path) {
				return Usage(fmt.Errorf("%s would overwrite %s, which %s names: give it its own file", out.By,
					in.Path, in.By))
			}
		}
	}
	return nil
}

// tallies is the outfile.Kind of a trusted report.
type tallies struct{}

var talliesHead = regexp.MustCompile(`^\{\s*"read":\s*\d+,\s*"dead_lettered":`)

func (tallies) String() string         { return "a trusted report of tollgate" }
func (tallies) Wrote(head []byte) bool { return talliesHead.Match(head) }

// CheckTrusted returns an error if the file of --trusted-report cannot be created or, if it exists,
// cannot be written. Commands call it before anything runs.
func CheckTrusted(path string) error {
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return fmt.Errorf("opening --trusted-report: %w", err)
		}
		file.Close()
	}
	return cli.CheckOutput("--trusted-report", path, 0o600, tallies{})
}

// SaveTrusted writes the file of --trusted-report, readable only by its owner because it must not
// be published. It does nothing if path is empty.
func SaveTrusted(path string, t pipeline.Tallies) error {
	return cli.SaveOutput("--trusted-report", path, 0o600, func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(t)
	})
}

// htmlEvery is the time between writes of a page during a run.
const htmlEvery = time.Minute

// Page is the file of --report: an HTML page of released values. It can be saved repeatedly, each
// time whole or not at all. Not safe for concurrent use.
type Page struct {
	Path    string
	Options html.Options
	Values  *html.Collector
	saved   time.Time
}

// OpenPage returns the page of a path, or an error if the path cannot be written. The page of an
// empty path keeps and writes nothing.
func OpenPage(path string, d *pipeline.Deployment) (*Page, error) {
	if err := cli.CheckOutput("--report", path, 0o644, html.PageKind{}); err != nil {
		return nil, err
	}
	return &Page{Path: path, Values: html.NewCollector(d), saved: time.Now()}, nil
}

// Describe sets the title and source of the page. notes say what its promise does not cover, in
// addition to what follows from the deployment.
func (p *Page) Describe(title, source string, notes ...string) {
	p.Options.Title, p.Options.Source, p.Options.Notes = title, source, notes
}

// Add adds the releases of a turn. end is the end of the turn.
func (p *Page) Add(generation uint32, end time.Time, releases []schemas.Release) {
	if p.Path == "" {
		return
	}
	p.Options.Settled.Add(generation, end, end)
	for _, r := range releases {
		p.Values.Add(r)
	}
}

// Due reports whether it is time to save the page again.
func (p *Page) Due(now time.Time) bool { return p.Path != "" && now.Sub(p.saved) >= htmlEvery }

// Save writes the page, with everything that has been added so far.
func (p *Page) Save() error {
	p.saved = time.Now()
	p.Options.Generated = p.saved
	return cli.SaveOutput("--report", p.Path, 0o644, func(w io.Writer) error { return p.Values.Write(w, p.Options) })
}
