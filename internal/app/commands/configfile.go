package commands

import (
	"context"
	"errors"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// usualConfig is the configuration file of commands without --config.
const usualConfig = "tollgate.yaml"

// configPath adds --config to a command that cannot do without a configuration.
func (a *app) configPath(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "config", "", "configuration file (YAML; default: $TOLLGATE_CONFIG, else "+usualConfig+")")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if cmd.Flags().Changed("config") {
			return nil
		}
		if *to = a.usualPath(); *to == "" {
			return usage(errors.New("--config is needed: TOLLGATE_CONFIG is not set, and there is no " + usualConfig + " here"))
		}
		return nil
	}
}

// usualPath returns the configuration of a command that is told of none: that of TOLLGATE_CONFIG,
// else usualConfig if it exists; "" for none.
func (a *app) usualPath() string {
	if path := a.getenv("TOLLGATE_CONFIG"); path != "" || !exists(usualConfig) {
		return path
	}
	return usualConfig
}

// orUsual is for a command that can do without a configuration: unless flags replace it, the usual
// one counts if --config names none.
func (a *app) orUsual(config string, changed func(string) bool, replace []string) string {
	if config != "" || changed("config") || slices.ContainsFunc(replace, changed) {
		return config
	}
	return a.usualPath()
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// loaded is a configuration that was read and compiled.
type loaded struct {
	*pipeline.Deployment
	file *config.File
	made []string // the key files that the command has made
}

// reach loads a configuration and waits until its broker answers.
func (a *app) reach(ctx context.Context, path string, o config.Options) (*loaded, error) {
	d, err := a.load(path, o)
	if err != nil {
		return nil, err
	}
	if err := a.awaitAnswer(ctx, d.Config.Kafka); err != nil {
		return nil, d.explained(err)
	}
	return d, nil
}

// load reads, resolves and compiles a configuration. Errors in its contents have an exit
// code of their own, which a missing file does not have.
func (a *app) load(path string, o config.Options) (*loaded, error) {
	file, err := config.Open(path, a.environment())
	if err != nil {
		return nil, inFile(err)
	}
	return a.compile(file, o)
}

// environment has the variables that a configuration can use.
func (a *app) environment() config.Environment {
	return config.Environment{Get: a.getenv, Names: a.variables}
}

func (a *app) compile(file *config.File, o config.Options) (*loaded, error) {
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

// spared refuses outputs that would overwrite the configuration, or a file that it names.
func (d *loaded) spared(outputs ...namedFile) error {
	var inputs []namedFile
	for i, file := range d.file.Files() {
		by := "the configuration"
		if i == 0 {
			by = "--config"
		}
		inputs = append(inputs, namedFile{by, file})
	}
	if record, _ := d.file.RecordPlace(); record != "" {
		inputs = append(inputs, namedFile{"the configuration", record})
	}
	return spared(outputs, inputs...)
}

// explained marks errors of the configuration that only a command of the pipeline finds:
// files of certificates, and differences from the HEADER. What only --strict refuses has the
// same exit code.
func (d *loaded) explained(err error) error {
	strict := errors.Is(err, pipeline.ErrStrict) && !errors.Is(err, pipeline.ErrStopped)
	if strict || errors.Is(err, pipeline.ErrHeaderMismatch) || errors.Is(err, pipeline.ErrOtherPromise) {
		return contents(err)
	}
	return inFile(d.file.Locate(err))
}
