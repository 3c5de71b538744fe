package deployment

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/base/formats/spelling"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/registry"
	"github.com/tollgate-dp/tollgate/pipeline/deployment/settings"
	"github.com/tollgate-dp/tollgate/schemas/secret"
)

// Check returns an error for an invalid address or security setting. It does not read files.
// Errors: *ConfigError names the field.
func (k *Kafka) Check() error {
	for i, address := range k.Brokers {
		host, port, err := net.SplitHostPort(address)
		if err != nil || host == "" {
			return Invalid(fmt.Sprintf("Kafka.Brokers[%d]", i), "%s", addressFault(secret.Redact(address)))
		}
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return Invalid(fmt.Sprintf("Kafka.Brokers[%d]", i), "the port in %q must be from 1 to 65535, for example "+
				"9092", secret.Redact(address))
		}
	}
	if t := k.TLS; t != nil {
		switch {
		case t.CertFile != "" && t.KeyFile == "":
			return Invalid("Kafka.TLS.KeyFile", "the client certificate %s needs its private key", t.CertFile)
		case t.KeyFile != "" && t.CertFile == "":
			return Invalid("Kafka.TLS.CertFile", "the private key %s needs its certificate", t.KeyFile)
		}
	}
	if k.SASL != nil {
		return k.SASL.check()
	}
	return nil
}

func addressFault(address string) string {
	if address != "" && !strings.ContainsAny(address, ":/[] ") {
		return fmt.Sprintf("%q has no port: write host:port with the port of the broker's listener, for example "+
			"%s:9092", address, address)
	}
	return fmt.Sprintf("%q is not host:port, for example localhost:9092", address)
}

func (s *SASL) check() error {
	all := spelling.List(settings.SASLMechanisms(), " or ")
	switch strings.ToLower(s.Mechanism) {
	case settings.SASLPlain, settings.SASLScramSHA256, settings.SASLScramSHA512:
	case settings.SASLOAuthBearer:
		return s.checkToken()
	case "":
		return Invalid("Kafka.SASL.Mechanism", "it is missing: give %s", all)
	default:
		return Invalid("Kafka.SASL.Mechanism", "%q is not %s", s.Mechanism, all)
	}
	if s.TokenFile+s.TokenURL.Reveal()+s.TokenCAFile+s.Audience != "" || len(s.Scopes)+len(s.Extensions) > 0 {
		return Invalid("Kafka.SASL", "tokens, audience, scopes and extensions are only used with %s",
			proposed("Kafka.SASL.Mechanism", settings.SASLOAuthBearer))
	}
	return s.checkUser()
}

func (s *SASL) checkUser() error {
	switch {
	case s.User == "":
		return Invalid("Kafka.SASL.User", "it is missing: %s needs a user", s.Mechanism)
	case s.Password.Reveal() == "" && s.PasswordFile == "":
		return Invalid("Kafka.SASL.Password", "it is missing for user %q", s.User)
	}
	return nil
}

func (s *SASL) checkToken() error {
	if (s.TokenFile == "") == (s.TokenURL.Reveal() == "") {
		return Invalid("Kafka.SASL", "the source of the token is missing: give %s, a file that another program keeps "+
			"valid, or %s with user and password as client id and secret",
			field("Kafka.SASL.TokenFile"), field("Kafka.SASL.TokenURL"))
	}
	for _, extension := range s.Extensions {
		name, value, ok := strings.Cut(extension, "=")
		onlyLetters := strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
		if !ok || name == "" || name == "auth" || !onlyLetters || strings.ContainsFunc(value, func(r rune) bool {
			return r < ' ' || r > '~'
		}) {
			return Invalid("Kafka.SASL.Extensions", "%q is not name=value, with a name of letters, not auth, and a "+
				"value of printable characters", extension)
		}
	}
	if s.TokenFile != "" {
		if s.User+s.Password.Reveal()+s.PasswordFile+s.TokenCAFile+s.Audience != "" || len(s.Scopes) > 0 {
			return Invalid("Kafka.SASL", "user, password, authority, audience and scopes are only used with %s: the "+
				"token in the file already includes them", field("Kafka.SASL.TokenURL"))
		}
		return nil
	}
	address, query, _ := strings.Cut(s.TokenURL.Reveal(), "?")
	if registry.CheckURL(address) != nil || strings.Contains(query, "#") {
		return Invalid("Kafka.SASL.TokenURL", "it must be http://host:port/path or https://host:port/path, without "+
			"user, password and #")
	}
	return s.checkUser()
}
