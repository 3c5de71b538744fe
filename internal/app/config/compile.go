package config

import (
	"slices"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// Compile calls deployment.Compile. An error about a field has the type Errors and shows the line
// of the file that is at fault.
func (f *File) Compile() (*deployment.Deployment, error) {
	d, err := deployment.Compile(f.config)
	if err != nil {
		return nil, f.Locate(err)
	}
	_, given := f.document.places["privacy.delta_keys"]
	private := func(m deployment.Metric) bool { return m.Keys.Mode == deployment.KeysPrivate }
	if given && f.config.Privacy.DeltaKeys == 0 && slices.ContainsFunc(d.Config.Metrics, private) {
		f.document.errs = nil
		f.document.failAt("privacy.delta_keys", "a metric has private keys, which need a part of delta: leave the "+
			"field out to use a tenth of delta, or give a number above 0")
		return nil, f.document.errs
	}
	return d, nil
}
