package command

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// UsualConfig is the configuration file that commands use without --config.
const UsualConfig = "tollgate.yaml"

// ConfigPath adds --config to a command that needs a configuration.
func (a *App) ConfigPath(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "config", "", "configuration file (YAML; default: $TOLLGATE_CONFIG, else "+UsualConfig+
		")")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if cmd.Flags().Changed("config") {
			return nil
		}
		if *to = a.UsualPath(); *to == "" {
			return Usage(errors.New("--config is needed: TOLLGATE_CONFIG is not set, and there is no " + UsualConfig +
				" here"))
		}
		return nil
	}
}

// UsualPath returns the path of the configuration to use without --config: the one in
// TOLLGATE_CONFIG, else UsualConfig if it exists, else "".
func (a *App) UsualPath() string {
	if path := a.Getenv("TOLLGATE_CONFIG"); path != "" || !exists(UsualConfig) {
		return path
	}
	return UsualConfig
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Loaded is a configuration that was read and compiled.
type Loaded struct {
	*pipeline.Deployment
	File *config.File
	made []string // key files that the command has created
}

// Reach loads a configuration and waits until its broker answers.
func (a *App) Reach(ctx context.Context, path string, o config.Options) (*Loaded, error) {
	d, err := a.Load(path, o)
	if err != nil {
		return nil, err
	}
	if err := a.AwaitAnswer(ctx, d.Config.Kafka); err != nil {
		return nil, d.Explained(err)
	}
	return d, nil
}

// Load reads, resolves and compiles a configuration. Errors in its contents, unlike a missing file,
// have the exit code ExitConfig.
func (a *App) Load(path string, o config.Options) (*Loaded, error) { return a.prepare(path, false, o) }

// Prepare loads a configuration that is to be put in force. With generateKeys it first creates the
// missing key files that the configuration names.
func (a *App) Prepare(path string, generateKeys bool) (*Loaded, error) {
	return a.prepare(path, generateKeys, config.Options{})
}

func (a *App) prepare(path string, generateKeys bool, o config.Options) (*Loaded, error) {
	file, err := config.Open(path, config.Environment{Get: a.Getenv, Names: a.Variables})
	if err != nil {
		return nil, inFile(err)
	}
	loaded := &Loaded{File: file}
	if generateKeys {
		if loaded.made, err = a.generateKeys(file); err != nil {
			return nil, err
		}
	}
	if err = file.Resolve(o); err == nil {
		loaded.Deployment, err = file.Compile()
	}
	if err != nil {
		return nil, inFile(err)
	}
	return loaded, nil
}

// inFile marks errors in a file's contents.
func inFile(err error) error {
	var wrong config.Errors
	if errors.As(err, &wrong) {
		return Contents(wrong)
	}
	return err
}

// CheckOverwrite returns an error if an output would overwrite the configuration, or a file that it
// names.
func (d *Loaded) CheckOverwrite(outputs ...NamedFile) error {
	var inputs []NamedFile
	for i, file := range d.File.Files() {
		by := "the configuration"
		if i == 0 {
			by = "--config"
		}
		inputs = append(inputs, NamedFile{by, file})
	}
	if record, _ := d.File.RecordPlace(); record != "" {
		inputs = append(inputs, NamedFile{"the configuration", record})
	}
	return CheckOverwrite(outputs, inputs...)
}

// Explained marks errors in the configuration that only the pipeline finds: bad certificate files,
// and differences from the HEADER. Errors that only --strict causes have the same exit code.
func (d *Loaded) Explained(err error) error {
	strict := errors.Is(err, pipeline.ErrStrict) && !errors.Is(err, pipeline.ErrStopped)
	if strict || errors.Is(err, pipeline.ErrHeaderMismatch) || errors.Is(err, pipeline.ErrOtherPromise) {
		return Contents(err)
	}
	return inFile(d.File.Locate(err))
}

// Unrecorded returns a copy of the deployment without the record of its keys, so that the pipeline
// does not check it, and the record itself, which init interprets on its own.
func (d *Loaded) Unrecorded() (*Loaded, *pipeline.Record) {
	without := *d.Deployment
	without.Config.Record = nil
	return &Loaded{Deployment: &without, File: d.File, made: d.made}, d.Config.Record
}
