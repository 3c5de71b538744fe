package replay

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas/secret"
)

// kafkaFlags say how to reach brokers without a configuration file.
type kafkaFlags struct {
	brokers                                  []string
	tls                                      bool
	ca, cert, key, serverName                string
	mechanism, user, passwordEnv, passwordIn string
}

func (f *kafkaFlags) register(flags *pflag.FlagSet) {
	flags.StringSliceVar(&f.brokers, "brokers", nil, "brokers as host:port, tried in order")
	flags.BoolVar(&f.tls, "tls", false, "encrypt; without --tls-ca, trust the system's certificate authorities")
	flags.StringVar(&f.ca, "tls-ca", "", "PEM file of the authority that signed the brokers' certificates")
	flags.StringVar(&f.cert, "tls-cert", "", "PEM file of the client's certificate")
	flags.StringVar(&f.key, "tls-key", "", "PEM file of the client's key")
	flags.StringVar(&f.serverName, "tls-server-name", "", "name in the brokers' certificates")
	flags.StringVar(&f.mechanism, "sasl-mechanism", "", "plain, scram-sha-256 or scram-sha-512")
	flags.StringVar(&f.user, "sasl-user", "", "user name")
	flags.StringVar(&f.passwordEnv, "sasl-password-env", "", "environment variable with the password")
	flags.StringVar(&f.passwordIn, "sasl-password-file", "", "file with the password")
}

// kafka returns how to reach the brokers that the flags name.
func (f *kafkaFlags) kafka(getenv func(string) string) (pipeline.Kafka, error) {
	k := pipeline.Kafka{Brokers: f.brokers}
	if len(f.brokers) == 0 {
		return k, command.Usage(errors.New("--brokers is needed: host:port, or --config FILE"))
	}
	if f.tls || f.ca+f.cert+f.key+f.serverName != "" {
		k.TLS = &pipeline.TLS{CAFile: f.ca, CertFile: f.cert, KeyFile: f.key, ServerName: f.serverName}
	}
	if f.mechanism == "" {
		if f.user+f.passwordEnv+f.passwordIn != "" {
			return k, command.Usage(errors.New("--sasl-mechanism is needed beside the other --sasl flags"))
		}
		return k, nil
	}
	if strings.EqualFold(f.mechanism, deployment.SASLOAuthBearer) {
		return k, command.Usage(errors.New("--sasl-mechanism: tokens are configured in a file: give --config FILE, with kafka.sasl in it"))
	}
	password, err := f.password(getenv)
	if err != nil {
		return k, err
	}
	k.SASL = &pipeline.SASL{Mechanism: f.mechanism, User: f.user, Password: password, PasswordFile: f.passwordIn}
	return k, nil
}

func (f *kafkaFlags) password(getenv func(string) string) (password secret.Of[string], err error) {
	if (f.passwordEnv == "") == (f.passwordIn == "") {
		return password, command.Usage(errors.New("give either --sasl-password-env or --sasl-password-file"))
	}
	return readPassword("sasl", f.passwordEnv, f.passwordIn, getenv)
}

// readPassword reads the password of --NAME-password-env or --NAME-password-file.
func readPassword(name, env, file string, getenv func(string) string) (password secret.Of[string], err error) {
	if env != "" {
		if value := secret.Line(getenv(env)); value != "" {
			return secret.New(value), nil
		}
		return password, command.Usage(fmt.Errorf("--%s-password-env: the variable %s is not set or empty", name, env))
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return password, fmt.Errorf("reading --%s-password-file: %w", name, err)
	}
	return secret.New(secret.Line(string(text))), nil
}
