package deployment

import (
	"fmt"
	"net"
	"strconv"
	"strings"
)

// Values of SASL.Mechanism.
const (
	SASLPlain       = "plain"
	SASLScramSHA256 = "scram-sha-256"
	SASLScramSHA512 = "scram-sha-512"
)

// Check refuses invalid addresses and security settings, without looking at files. Errors:
// *ConfigError names the field.
func (k *Kafka) Check() error {
	if err := k.checkBrokers(); err != nil {
		return err
	}
	return k.checkSecurity()
}

// checkBrokers refuses what is not the address of a broker.
func (k *Kafka) checkBrokers() error {
	for i, address := range k.Brokers {
		host, port, err := net.SplitHostPort(address)
		if err != nil || host == "" {
			return Invalid(fmt.Sprintf("kafka.brokers[%d]", i), "%s", noAddress(address))
		}
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return Invalid(fmt.Sprintf("kafka.brokers[%d]", i), "the port in %q must be from 1 to 65535, for example 9092", address)
		}
	}
	return nil
}

// noAddress says what is missing in the address of a broker.
func noAddress(address string) string {
	if address != "" && !strings.ContainsAny(address, ":/[] ") {
		return fmt.Sprintf("%q has no port: write host:port, with the port of the brokers' listener, for example %s:9092", address, address)
	}
	return fmt.Sprintf("%q is not host:port, for example localhost:9092", address)
}

// checkSecurity refuses invalid settings of TLS and SASL, without looking at files.
func (k *Kafka) checkSecurity() error {
	if t := k.TLS; t != nil {
		switch {
		case t.CertFile != "" && t.KeyFile == "":
			return Invalid("kafka.tls.key", "the client certificate %s needs its private key", t.CertFile)
		case t.KeyFile != "" && t.CertFile == "":
			return Invalid("kafka.tls.cert", "the private key %s needs its certificate", t.KeyFile)
		}
	}
	if s := k.SASL; s != nil {
		switch strings.ToLower(s.Mechanism) {
		case SASLPlain, SASLScramSHA256, SASLScramSHA512:
		case "":
			return Invalid("kafka.sasl.mechanism", "it is missing: %s, %s or %s", SASLPlain, SASLScramSHA256, SASLScramSHA512)
		default:
			return Invalid("kafka.sasl.mechanism", "%q is not %s, %s or %s", s.Mechanism, SASLPlain, SASLScramSHA256, SASLScramSHA512)
		}
		switch {
		case s.User == "":
			return Invalid("kafka.sasl.user", "it is missing: %s needs a user", s.Mechanism)
		case s.Password == "":
			return Invalid("kafka.sasl.password", "it is missing for user %q", s.User)
		}
	}
	return nil
}

// String keeps the password out of logs that print a configuration.
func (s SASL) String() string {
	return fmt.Sprintf("{%s %s}", s.Mechanism, s.User)
}

// GoString is String for %#v.
func (s SASL) GoString() string { return s.String() }
