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
		says string // DIR is replaced by the directory
	}{
		{"CA file is not there", deployment.Kafka{TLS: &deployment.TLS{CAFile: f.Gone}},
			"Kafka.TLS.CAFile: reading DIR/gone.pem: no such file or directory"},
		{"CA file is a directory", deployment.Kafka{TLS: &deployment.TLS{CAFile: f.Dir}},
			"Kafka.TLS.CAFile: reading DIR: is a directory"},
		{"CA file is no PEM", deployment.Kafka{TLS: &deployment.TLS{CAFile: f.Text}},
			`Kafka.TLS.CAFile: DIR/notes.txt has no PEM block "CERTIFICATE"`},
		{"CA file is a key", deployment.Kafka{TLS: &deployment.TLS{CAFile: f.Key}},
			`Kafka.TLS.CAFile: DIR/key.pem has no PEM block "CERTIFICATE"`},
		{"certificate without key", deployment.Kafka{TLS: &deployment.TLS{CertFile: f.Cert}},
			"Kafka.TLS.KeyFile: the client certificate DIR/cert.pem needs its private key"},
		{"key without certificate", deployment.Kafka{TLS: &deployment.TLS{KeyFile: f.Key}},
			"Kafka.TLS.CertFile: the private key DIR/key.pem needs its certificate"},
		{"certificate is a key", deployment.Kafka{TLS: &deployment.TLS{CertFile: f.Key, KeyFile: f.Key}},
			`Kafka.TLS.CertFile: DIR/key.pem has no PEM block "CERTIFICATE"`},
		{"key is a certificate", deployment.Kafka{TLS: &deployment.TLS{CertFile: f.Cert, KeyFile: f.Cert}},
			`Kafka.TLS.KeyFile: DIR/cert.pem has no PEM block "PRIVATE KEY"`},
		{"key of another certificate", deployment.Kafka{TLS: &deployment.TLS{CertFile: f.Cert, KeyFile: f.OtherKey}},
			"Kafka.TLS.KeyFile: DIR/other-key.pem and the certificate DIR/cert.pem do not belong together: tls: " +
				"private key does not match public key"},
		{"encrypted key", deployment.Kafka{TLS: &deployment.TLS{CertFile: f.Cert, KeyFile: f.Encrypted}},
			"Kafka.TLS.KeyFile: the private key in DIR/encrypted.pem is encrypted: remove its passphrase, and let " +
				"only this program read the file"},
		{"no mechanism", deployment.Kafka{SASL: &deployment.SASL{User: "u", Password: secret.New("s3cret")}},
			"Kafka.SASL.Mechanism: it is missing: give plain, scram-sha-256, scram-sha-512 or oauthbearer"},
		{"another mechanism",
			deployment.Kafka{SASL: &deployment.SASL{Mechanism: "gssapi", User: "u", Password: secret.New("s3cret")}},
			`Kafka.SASL.Mechanism: "gssapi" is not plain, scram-sha-256, scram-sha-512 or oauthbearer`},
		{"no user", deployment.Kafka{SASL: &deployment.SASL{Mechanism: "plain", Password: secret.New("s3cret")}},
			"Kafka.SASL.User: it is missing: plain needs a user"},
		{"no password", deployment.Kafka{SASL: &deployment.SASL{Mechanism: "plain", User: "u"}},
			`Kafka.SASL.Password: it is missing for user "u"`},
		{"a password that SCRAM cannot carry",
			deployment.Kafka{SASL: &deployment.SASL{Mechanism: "scram-sha-512", User: "u",
				Password: secret.New("s3cret\x00")}},
			`Kafka.SASL.User: user "u" or its password has characters that scram-sha-512 does not allow`},
		{"the password's file is not there",
			deployment.Kafka{SASL: &deployment.SASL{Mechanism: "plain", User: "u", PasswordFile: f.Gone}},
			"Kafka.SASL.PasswordFile: reading DIR/gone.pem: no such file or directory"},
		{"no token", deployment.Kafka{SASL: &deployment.SASL{Mechanism: "oauthbearer"}},
			"Kafka.SASL: the source of the token is missing: give Kafka.SASL.TokenFile, a file that another program " +
				"keeps valid, or Kafka.SASL.TokenURL with user and password as client id and secret"},
		{"two tokens",
			deployment.Kafka{SASL: &deployment.SASL{Mechanism: "oauthbearer", TokenFile: f.Text,
				TokenURL: secret.New("https://idp")}},
			"Kafka.SASL: the source of the token is missing: give Kafka.SASL.TokenFile, a file that another program " +
				"keeps valid, or Kafka.SASL.TokenURL with user and password as client id and secret"},
		{"a token and a user",
			deployment.Kafka{SASL: &deployment.SASL{Mechanism: "oauthbearer", TokenFile: f.Text, User: "u"}},
			"Kafka.SASL: user, password, authority, audience and scopes are only used with Kafka.SASL.TokenURL: the " +
				"token in the file already includes them"},
		{"a token for a password's mechanism",
			deployment.Kafka{SASL: &deployment.SASL{Mechanism: "plain", User: "u", Password: secret.New("s3cret"),
				TokenFile: f.Text}},
			"Kafka.SASL: tokens, audience, scopes and extensions are only used with Kafka.SASL.Mechanism = " +
				"oauthbearer"},
		{"the token's file is a key",
			deployment.Kafka{SASL: &deployment.SASL{Mechanism: "oauthbearer", TokenFile: f.Key}},
			"Kafka.SASL.TokenFile: the file DIR/key.pem must contain a token and nothing else"},
		{"an endpoint without a client",
			deployment.Kafka{
				SASL: &deployment.SASL{Mechanism: "oauthbearer", TokenURL: secret.New("https://idp/token")}},
			"Kafka.SASL.User: it is missing: oauthbearer needs a user"},
		{"an endpoint with a password in it",
			deployment.Kafka{
				SASL: &deployment.SASL{Mechanism: "oauthbearer", TokenURL: secret.New("https://u:s3cret@idp/token"),
					User: "u", Password: secret.New("p")}},
			"Kafka.SASL.TokenURL: it must be http://host:port/path or https://host:port/path, without user, " +
				"password and #"},
		{"an endpoint with a fragment",
			deployment.Kafka{
				SASL: &deployment.SASL{Mechanism: "oauthbearer", TokenURL: secret.New("https://idp/token?key=s3cret#a"),
					User: "u", Password: secret.New("p")}},
			"Kafka.SASL.TokenURL: it must be http://host:port/path or https://host:port/path, without user, " +
				"password and #"},
		{"an extension that ends the token",
			deployment.Kafka{SASL: &deployment.SASL{Mechanism: "oauthbearer", TokenFile: f.Text,
				Extensions: []string{"a=b\x01auth=c"}}},
			`Kafka.SASL.Extensions: "a=b\x01auth=c" is not name=value, ` +
				`with a name of letters, not auth, and a value of printable characters`},
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
