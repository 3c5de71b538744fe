package replay

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/registry"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas/event"
	"github.com/tollgate-dp/tollgate/schemas/secret"
)

const avroHelp = `replay writes the records of an Avro container file in the form in which a run reads
them. If the topic is read with a schema file (events.schema, --schema), it writes
them bare, and the file must have been written with that schema. If the topic is read
with a schema registry (events.registry, --registry), each record begins with the id
of the file's schema; replay registers the schema under the subject TOPIC-value if it
is not there yet.
`

// avroFlags say how the readers of a topic find the schema of its Avro records.
type avroFlags struct {
	schema                               string
	registry                             string
	user, passwordEnv, passwordIn, caCrt string
}

func (f *avroFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.schema, "schema", "", "avro: the .avsc file that the topic is read with; records are written bare")
	flags.StringVar(&f.registry, "registry", "", "avro: address of the schema registry that the topic is read with, https://…; records get schema ids")
	flags.StringVar(&f.user, "registry-user", "", "user name for the registry")
	flags.StringVar(&f.passwordEnv, "registry-password-env", "", "environment variable with the registry's password")
	flags.StringVar(&f.passwordIn, "registry-password-file", "", "file with the registry's password")
	flags.StringVar(&f.caCrt, "registry-ca", "", "PEM file of the authority that signed the registry's certificate")
}

// target sets in to how records are to be written.
func (f *avroFlags) target(to *replayTo, getenv func(string) string) error {
	switch {
	case f.schema == "" && f.registry == "":
		return command.Usage(errors.New("say how the topic's Avro records are read: --registry URL if each begins with the id of its schema, " +
			"--schema FILE.avsc if they are bare and all have one schema; or --config FILE, which says so"))
	case f.schema != "" && f.registry != "":
		return command.Usage(errors.New("give --schema or --registry: records are either bare or have the id of their schema"))
	case f.schema != "" && f.user+f.passwordEnv+f.passwordIn+f.caCrt != "":
		return command.Usage(errors.New("the --registry- flags are only used with --registry, not with --schema"))
	case f.schema != "":
		text, err := os.ReadFile(f.schema)
		if err != nil {
			return fmt.Errorf("reading --schema: %w", err)
		}
		to.format.Schema = string(text)
		return schemaError(f.schema, to.format.Check())
	}
	password, err := f.password(getenv)
	if err != nil {
		return err
	}
	to.registry, err = registryOf(&pipeline.Registry{URL: f.registry, User: f.user, Password: password, CAFile: f.caCrt})
	if err != nil {
		return command.Usage(fmt.Errorf("--registry: %w", err))
	}
	return nil
}

// schemaError marks errors of a schema file, and of flags that name fields it does not have.
func schemaError(name string, err error) error {
	var wrong *event.FormatError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong) && wrong.Field != "schema":
		return command.Usage(fmt.Errorf("looking for fields in --schema %s: %w", name, err))
	}
	return command.Contents(fmt.Errorf("--schema %s: %w", name, err))
}

func (f *avroFlags) password(getenv func(string) string) (password secret.Of[string], err error) {
	switch {
	case f.passwordEnv != "" && f.passwordIn != "":
		return password, command.Usage(errors.New("give --registry-password-env or --registry-password-file, not both"))
	case f.user != "" && f.passwordEnv+f.passwordIn == "":
		return password, command.Usage(errors.New("--registry-user needs --registry-password-env or --registry-password-file"))
	case f.passwordEnv+f.passwordIn == "":
		return password, nil
	}
	return readPassword("registry", f.passwordEnv, f.passwordIn, getenv)
}

// registryOf returns a client of a registry; nil where no registry is configured.
func registryOf(g *pipeline.Registry) (*registry.Client, error) {
	if g == nil {
		return nil, nil
	}
	return registry.New(registry.Config{URL: g.URL, User: g.User, Password: g.Password, CAFile: g.CAFile})
}
