package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	html "github.com/tollgate-dp/tollgate/internal/report"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas"
)

// htmlEvery is how often a run without an end writes its page.
const htmlEvery = time.Minute

// page is the file of --report: released values as a page, put in place
// whole or not at all, as often as wanted. Not safe for concurrent use.
type page struct {
	path    string
	options html.Options
	values  *html.Collector
	saved   time.Time
}

// openPage refuses a path that cannot be written.
func openPage(path string, d *pipeline.Deployment) (*page, error) {
	p := &page{path: path, values: html.NewCollector(d), saved: time.Now()}
	file, temp, err := p.create()
	if err == nil {
		err = file.Close()
	}
	if err == nil && temp {
		err = os.Remove(file.Name())
	}
	if err != nil {
		return nil, fmt.Errorf("opening --report (name a file in a directory that can be written): %w", err)
	}
	return p, nil
}

// describe says what the page is of, and what its promise does not cover beside
// what follows from the deployment.
func (p *page) describe(title, source string, notes ...string) {
	p.options.Title, p.options.Source, p.options.Notes = title, source, notes
}

// add takes a release, in any order, any number of times.
func (p *page) add(r schemas.Release) { p.values.Add(r) }

// due reports whether a page is to be written in between.
func (p *page) due(now time.Time) bool { return now.Sub(p.saved) >= htmlEvery }

// save writes the page of everything that was added so far.
func (p *page) save() error {
	p.saved = time.Now()
	p.options.Generated = p.saved
	file, temp, err := p.create()
	if err != nil {
		return fmt.Errorf("writing --report %s: %w", p.path, err)
	}
	err = p.values.Write(file, p.options)
	if err == nil && temp {
		err = file.Sync()
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err == nil && temp {
		err = os.Rename(file.Name(), p.path)
	}
	if err != nil {
		if temp {
			os.Remove(file.Name()) //nolint:errcheck // nothing more can be done
		}
		return fmt.Errorf("writing --report %s: %w", p.path, err)
	}
	return nil
}

// create opens what is written to: a new file beside the page, or the path
// itself where it is no ordinary file.
func (p *page) create() (file *os.File, temp bool, err error) {
	info, err := os.Stat(p.path)
	switch {
	case err == nil && info.IsDir():
		return nil, false, fmt.Errorf("%s is a directory", p.path)
	case err == nil && !info.Mode().IsRegular():
		file, err = os.OpenFile(p.path, os.O_WRONLY, 0)
		return file, false, err
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return nil, false, err
	}
	name := fmt.Sprintf(".%s-%s", filepath.Base(p.path), rand.Text()[:10])
	file, err = os.OpenFile(filepath.Join(filepath.Dir(p.path), name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	return file, true, err
}
