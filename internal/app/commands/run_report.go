package commands

import (
	"fmt"
	"time"

	"github.com/tollgate-dp/tollgate/pipeline"
)

// openPageFor opens the page of --report; nil without one.
func openPageFor(f *runFlags, d *loaded) (*page, error) {
	if f.report == "" {
		return nil, nil
	}
	page, err := openPage(f.report, d.Deployment)
	if err != nil {
		return nil, err
	}
	cfg := d.Config
	page.describe(cfg.Deployment, "counts topic "+cfg.Outputs.Counts+", what this run published")
	return page, nil
}

// chart adds a turn to the page, and writes it every htmlEvery.
func (o *runOutput) chart(p *pipeline.Published) error {
	if o.page == nil {
		return nil
	}
	o.pageMu.Lock()
	defer o.pageMu.Unlock()
	o.page.add(p.Generation, p.End, p.Releases)
	if o.page.due(time.Now()) {
		return o.page.save()
	}
	return nil
}

// endPage finishes the page. A page that is not an ordinary file may be a pipe without
// a reader: limit is how long endPage waits for one.
func (o *runOutput) endPage(limit time.Duration) error {
	if o.page == nil {
		return nil
	}
	saved := make(chan error, 1)
	go func() {
		o.pageMu.Lock()
		defer o.pageMu.Unlock()
		saved <- o.page.save()
	}()
	select {
	case err := <-saved:
		return err
	case <-time.After(limit):
		return fmt.Errorf("writing --report %s: nothing has read it for %v; is it a pipe without a reader?", o.page.path, limit)
	}
}
