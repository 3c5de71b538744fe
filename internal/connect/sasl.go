package connect

import (
	"context"
	"log/slog"
	"strings"

	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/deployment/settings"
)

// mechanism returns the configured SASL mechanism.
func mechanism(s *deployment.SASL, logger *slog.Logger) (sasl.Mechanism, error) {
	if strings.EqualFold(s.Mechanism, settings.SASLOAuthBearer) {
		return newBearer(s, logger)
	}
	current, err := newReloaded(func() (sasl.Mechanism, error) {
		password, err := passwordOf(s)
		if err != nil {
			return nil, err
		}
		return withPassword(s, password)
	}, logger)
	if err != nil {
		return nil, err
	}
	return passwordMechanism{current, current.last.Reveal().Name(), s.User}, nil
}

// passwordOf returns the current password; internal/app/config/secret.go reads it at first.
func passwordOf(s *deployment.SASL) (string, error) {
	if s.PasswordFile == "" {
		return s.Password.Reveal(), nil
	}
	return readSecret("Kafka.SASL.PasswordFile", s.PasswordFile)
}

func withPassword(s *deployment.SASL, password string) (sasl.Mechanism, error) {
	algorithm := scram.SHA256
	switch strings.ToLower(s.Mechanism) {
	case settings.SASLPlain:
		return plain.Mechanism{Username: s.User, Password: password}, nil
	case settings.SASLScramSHA512:
		algorithm = scram.SHA512
	}
	m, err := scram.Mechanism(algorithm, s.User, password)
	if err != nil {
		return nil, deployment.Invalid("Kafka.SASL.User", "user %q or its password has characters that %s does not "+
			"allow", s.User, s.Mechanism)
	}
	return m, nil
}

// passwordMechanism is a SASL mechanism that uses the current password.
type passwordMechanism struct {
	current    *reloaded[sasl.Mechanism]
	name, user string
}

// Name implements sasl.Mechanism.
func (m passwordMechanism) Name() string { return m.name }

// Start implements sasl.Mechanism.
func (m passwordMechanism) Start(ctx context.Context) (sasl.StateMachine, []byte, error) {
	return m.current.get().Start(ctx)
}

// User implements kafkalog.Named.
func (m passwordMechanism) User() string { return m.user }
