package run

import (
	"fmt"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// openPageFor opens the page of --report; nil without one.
func openPageFor(f *runFlags, d *command.Loaded) (*command.Page, error) {
	if f.report == "" {
		return nil, nil
	}
	page, err := command.OpenPage(f.report, d.Deployment)
	if err != nil {
		return nil, err
	}
	cfg := d.Config
	page.Describe(cfg.Deployment, "counts topic "+cfg.Outputs.Counts+", what this run published")
	return page, nil
}

// chart adds a turn to the page, and writes it every htmlEvery.
func (o *runOutput) chart(p *pipeline.Published) error {
	if o.page == nil {
		return nil
	}
	o.pageMu.Lock()
	defer o.pageMu.Unlock()
	o.page.Add(p.Generation, p.End, p.Releases)
	if o.page.Due(time.Now()) {
		return o.page.Save()
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
		saved <- o.page.Save()
	}()
	select {
	case err := <-saved:
		return err
	case <-time.After(limit):
		return fmt.Errorf("writing --report %s: nothing has read it for %v; is it a pipe without a reader?",
			o.page.Path, limit)
	}
}
