package config

import "github.com/tollgate-dp/tollgate/pipeline"

// Load reads a file and the files that it names.
func Load(name string, o Options, e Environment) (*File, error) {
	f, err := Open(name, e)
	if err != nil {
		return nil, err
	}
	return f, f.Resolve(o)
}

// Config returns the configuration without defaults.
func (f *File) Config() pipeline.Config { return f.config }
