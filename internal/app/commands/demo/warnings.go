package demo

import (
	"fmt"

	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// warnAbout is the same for the flags of a demo.
func (f *demoFlags) warnAbout(a *app, d *pipeline.Deployment, strict bool) error {
	var all []error
	if f.noiseKeyFile != "" {
		if reason := config.Exposed(f.noiseKeyFile); reason != "" {
			all = append(all, fmt.Errorf("--noise-key-file: %s", reason))
		}
	}
	for _, one := range deployment.Warnings(d) {
		all = append(all, f.configFlag(one))
	}
	return a.Warn(all, strict)
}
