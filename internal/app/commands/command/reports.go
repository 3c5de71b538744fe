package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/outfile"
	html "github.com/tollgate-dp/tollgate/internal/app/report"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas"
)

// Apart refuses one file for both reports: the exact tallies would replace the page that is
// made for publication.
func Apart(page, trusted string) error {
	if page == "" || trusted == "" || !outfile.Same(page, trusted) {
		return nil
	}
	return Usage(errors.New("--report and --trusted-report name the same file: one is public, the other is not; give " +
		"each a file of its own"))
}

// NamedFile is a file with what names it: a flag, or the configuration.
type NamedFile struct{ By, Path string }

// Spared refuses outputs that are also read: what is read would be gone.
func Spared(outputs []NamedFile, inputs ...NamedFile) error {
	for _, out := range outputs {
		for _, in := range inputs {
			if out.Path != "" && in.Path != "" && outfile.Same(out.Path, in.Path) {
				return Usage(fmt.Errorf("%s would overwrite %s, which %s names: give it a file of its own", out.By,
					in.Path, in.By))
			}
		}
	}
	return nil
}

// tallies are the kind of file that a trusted report is.
type tallies struct{}

var talliesHead = regexp.MustCompile(`^\{\s*"read":\s*\d+,\s*"dead_lettered":`)

func (tallies) String() string         { return "a trusted report of tollgate" }
func (tallies) Wrote(head []byte) bool { return talliesHead.Match(head) }

// CheckTrusted refuses a path of --trusted-report that cannot be written, also a file that is there
// and protected, before anything runs.
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

// SaveTrusted writes the file of --trusted-report, readable by its owner only: it is not for
// publication. An empty path is no file.
func SaveTrusted(path string, t pipeline.Tallies) error {
	return cli.SaveOutput("--trusted-report", path, 0o600, func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(t)
	})
}

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
