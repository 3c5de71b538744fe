package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/config"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// configPath adds --config to a command that cannot do without it.
func configPath(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "config", "", "configuration file (YAML)")
	cmd.MarkFlagRequired("config") //nolint:errcheck // the flag exists
}

// loaded is a configuration that was read and compiled.
type loaded struct {
	*pipeline.Deployment
	file *config.File
}

// load reads, resolves and compiles a configuration. Errors in its contents have an exit
// code of their own, which a missing file does not have.
func (a *app) load(path string, o config.Options) (*loaded, error) {
	file, err := config.Open(path)
	if err != nil {
		return nil, inFile(err)
	}
	return a.compile(file, o)
}

func (a *app) compile(file *config.File, o config.Options) (*loaded, error) {
	o.Getenv = a.getenv
	if err := file.Resolve(o); err != nil {
		return nil, inFile(err)
	}
	d, err := file.Compile()
	if err != nil {
		return nil, inFile(err)
	}
	return &loaded{Deployment: d, file: file}, nil
}

// inFile marks errors of a file's contents.
func inFile(err error) error {
	var wrong config.Errors
	if errors.As(err, &wrong) {
		return contents(wrong)
	}
	return err
}

// explained marks errors of the configuration that only a command of the pipeline finds:
// files of certificates, and differences from the HEADER. What only --strict refuses has the
// same exit code.
func (d *loaded) explained(err error) error {
	strict := errors.Is(err, pipeline.ErrStrict) && !errors.Is(err, pipeline.ErrStopped)
	if strict || errors.Is(err, pipeline.ErrHeaderMismatch) {
		return contents(err)
	}
	return inFile(d.file.Locate(err))
}
