package main

import (
	"time"

	"github.com/tollgate-dp/tollgate/schemas"
)

// openPageFor opens the page of --report; nil without one.
func openPageFor(f *runFlags, d *deployment) (*page, error) {
	if f.report == "" {
		return nil, nil
	}
	page, err := openPage(f.report, d.Deployment)
	if err != nil {
		return nil, err
	}
	cfg := d.Config()
	page.describe(cfg.Deployment, "counts topic "+cfg.Outputs.Counts+", what this run published")
	return page, nil
}

// chart adds releases to the page, and writes it now and then.
func (o *runOutput) chart(releases []schemas.Release) error {
	if o.page == nil {
		return nil
	}
	for _, r := range releases {
		o.page.add(r)
	}
	if o.page.due(time.Now()) {
		return o.page.save()
	}
	return nil
}

// end finishes progress and page.
func (o *runOutput) end() error {
	o.progress.Done()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.page == nil {
		return nil
	}
	return o.page.save()
}
