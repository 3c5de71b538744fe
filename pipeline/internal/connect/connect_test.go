package connect

import (
	"errors"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas/secret"
)

func TestWhatIsWrongWithSecurityIsSaidByField(t *testing.T) {
	f := deploytest.WritePEM(t)
	for _, tt := range []struct {
		name string
		k    deployment.Kafka
		says string // DIR stands for the directory
	}{
		{"CA file is not there", deployment.Kafka{TLS: &deployment.TLS{CAFile: f.Gone}}, "kafka.tls.ca: reading DIR/gone.pem: no such file or directory"},
		{"CA file is a directory", deployment.Kafka{TLS: &deployment.TLS{CAFile: f.Dir}}, "kafka.tls.ca: reading DIR: is a directory"},
		{"CA file is no PEM", deployment.Kafka{TLS: &deployment.TLS{CAFile: f.Text}}, `kafka.tls.ca: DIR/notes.txt has no PEM block "CERTIFICATE"`},
		{"CA file is a key", deployment.Kafka{TLS: &deployment.TLS{CAFile: f.Key}}, `kafka.tls.ca: DIR/key.pem has no PEM block "CERTIFICATE"`},
		{"certificate without key", deployment.Kafka{TLS: &deployment.TLS{CertFile: f.Cert}}, "kafka.tls.key: the client certificate DIR/cert.pem needs its private key"},
		{"key without certificate", deployment.Kafka{TLS: &deployment.TLS{KeyFile: f.Key}}, "kafka.tls.cert: the private key DIR/key.pem needs its certificate"},
		{"certificate is a key", deployment.Kafka{TLS: &deployment.TLS{CertFile: f.Key, KeyFile: f.Key}}, `kafka.tls.cert: DIR/key.pem has no PEM block "CERTIFICATE"`},
		{"key is a certificate", deployment.Kafka{TLS: &deployment.TLS{CertFile: f.Cert, KeyFile: f.Cert}}, `kafka.tls.key: DIR/cert.pem has no PEM block "PRIVATE KEY"`},
		{"key of another certificate", deployment.Kafka{TLS: &deployment.TLS{CertFile: f.Cert, KeyFile: f.OtherKey}}, "kafka.tls.key: DIR/other-key.pem and the certificate DIR/cert.pem do not belong together: tls: private key does not match public key"},
		{"encrypted key", deployment.Kafka{TLS: &deployment.TLS{CertFile: f.Cert, KeyFile: f.Encrypted}}, "kafka.tls.key: the private key in DIR/encrypted.pem is encrypted: remove its passphrase, and let only this program read the file"},
		{"no mechanism", deployment.Kafka{SASL: &deployment.SASL{User: "u", Password: secret.New("s3cret")}}, "kafka.sasl.mechanism: it is missing: plain, scram-sha-256, scram-sha-512 or oauthbearer"},
		{"another mechanism", deployment.Kafka{SASL: &deployment.SASL{Mechanism: "gssapi", User: "u", Password: secret.New("s3cret")}}, `kafka.sasl.mechanism: "gssapi" is not plain, scram-sha-256, scram-sha-512 or oauthbearer`},
		{"no user", deployment.Kafka{SASL: &deployment.SASL{Mechanism: "plain", Password: secret.New("s3cret")}}, "kafka.sasl.user: it is missing: plain needs a user"},
		{"no password", deployment.Kafka{SASL: &deployment.SASL{Mechanism: "plain", User: "u"}}, `kafka.sasl.password: it is missing for user "u"`},
		{"a password that SCRAM cannot carry", deployment.Kafka{SASL: &deployment.SASL{Mechanism: "scram-sha-512", User: "u", Password: secret.New("s3cret\x00")}}, `kafka.sasl.user: user "u" or its password has characters that scram-sha-512 cannot carry`},
		{"the password's file is not there", deployment.Kafka{SASL: &deployment.SASL{Mechanism: "plain", User: "u", PasswordFile: f.Gone}}, "kafka.sasl.password_file: reading DIR/gone.pem: no such file or directory"},
		{"no token", deployment.Kafka{SASL: &deployment.SASL{Mechanism: "oauthbearer"}}, "kafka.sasl: the source of the token is missing: give token_file, a file that another program keeps valid, or token_url with user and password as client id and secret"},
		{"two tokens", deployment.Kafka{SASL: &deployment.SASL{Mechanism: "oauthbearer", TokenFile: f.Text, TokenURL: secret.New("https://idp")}}, "kafka.sasl: the source of the token is missing: give token_file, a file that another program keeps valid, or token_url with user and password as client id and secret"},
		{"a token and a user", deployment.Kafka{SASL: &deployment.SASL{Mechanism: "oauthbearer", TokenFile: f.Text, User: "u"}}, "kafka.sasl: user, password, token_ca, audience and scopes are only used with token_url: the token of token_file already has them"},
		{"a token for a password's mechanism", deployment.Kafka{SASL: &deployment.SASL{Mechanism: "plain", User: "u", Password: secret.New("s3cret"), TokenFile: f.Text}}, "kafka.sasl: tokens, audience, scopes and extensions are only used with mechanism oauthbearer"},
		{"the token's file is a key", deployment.Kafka{SASL: &deployment.SASL{Mechanism: "oauthbearer", TokenFile: f.Key}}, "kafka.sasl.token_file: the file DIR/key.pem must have a token and nothing else"},
		{"an endpoint without a client", deployment.Kafka{SASL: &deployment.SASL{Mechanism: "oauthbearer", TokenURL: secret.New("https://idp/token")}}, "kafka.sasl.user: it is missing: oauthbearer needs a user"},
		{"an endpoint with a password in it", deployment.Kafka{SASL: &deployment.SASL{Mechanism: "oauthbearer", TokenURL: secret.New("https://u:s3cret@idp/token"), User: "u", Password: secret.New("p")}}, "kafka.sasl.token_url: it must be http://host:port/path or https://host:port/path, without user, password and #"},
		{"an endpoint with a fragment", deployment.Kafka{SASL: &deployment.SASL{Mechanism: "oauthbearer", TokenURL: secret.New("https://idp/token?key=s3cret#a"), User: "u", Password: secret.New("p")}}, "kafka.sasl.token_url: it must be http://host:port/path or https://host:port/path, without user, password and #"},
		{"an extension that ends the token", deployment.Kafka{SASL: &deployment.SASL{Mechanism: "oauthbearer", TokenFile: f.Text, Extensions: []string{"a=b\x01auth=c"}}}, `kafka.sasl.extensions: "a=b\x01auth=c" is not name=value, with a name of letters, not auth, and a value of printable characters`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.k.Brokers = []string{"127.0.0.1:1"}
			_, err := Dial(t.Context(), tt.k, nil)
			var wrong *deployment.ConfigError
			if !errors.As(err, &wrong) || strings.ReplaceAll(err.Error(), f.Dir, "DIR") != tt.says {
				t.Errorf("%v\nis not\n%s", err, tt.says)
			}
			if err != nil && strings.Contains(err.Error(), "s3cret") {
				t.Errorf("the password is in %v", err)
			}
		})
	}
}
