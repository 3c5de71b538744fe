package pipeline

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/await"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/internal/testing/realkafka"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/connect"
	"github.com/tollgate-dp/tollgate/schemas/secret"
)

// unsecured returns a token without a signature, which Kafka takes where it is not told otherwise.
func unsecured(life time.Duration) string {
	now := time.Now().Unix()
	part := func(json string) string { return base64.RawURLEncoding.EncodeToString([]byte(json)) }
	return part(`{"alg":"none"}`) + "." + part(fmt.Sprintf(`{"sub":"alice","iat":%d,"exp":%d}`, now-3600, now+int64(life.Seconds()))) + "."
}

// Tokens on Apache Kafka: from a file that is replaced, and from an authorization server. One
// broker for both, because starting it takes seconds.
func TestTokensOnApacheKafka(t *testing.T) {
	t.Parallel()
	b := kafkaOf(t, realkafka.Options{
		Listeners: []realkafka.Listener{{Name: "TOKEN", Protocol: "SASL_PLAINTEXT"}},
		Settings: map[string]string{
			"sasl.enabled.mechanisms":                     "OAUTHBEARER",
			"listener.name.token.sasl.enabled.mechanisms": "OAUTHBEARER",
			"listener.name.token.oauthbearer.sasl.jaas.config": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule " +
				"required unsecuredLoginStringClaim_sub=\"broker\";",
		},
	})
	t.Run("file", func(t *testing.T) { testTokenFile(t, b) })
	t.Run("endpoint", func(t *testing.T) { testTokenEndpoint(t, b) })
}

func testTokenFile(t *testing.T, b *realkafka.Broker) {
	file := filepath.Join(t.TempDir(), "token")
	put := func(token string) {
		if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	k := deployment.Kafka{Brokers: []string{b.AddrOf("TOKEN")}, SASL: &deployment.SASL{Mechanism: "oauthbearer", TokenFile: file, Extensions: []string{"logicalCluster=lkc"}}}
	put(unsecured(-time.Minute))
	_, err := connect.Dial(t.Context(), k, nil)
	if !errors.Is(err, kafkalog.ErrRefused) || !strings.Contains(err.Error(), "check that the broker accepts this token, and that it has not expired") || strings.Contains(err.Error(), "eyJ") {
		t.Errorf("an expired token: %v", err)
	}
	put(unsecured(time.Hour))
	client, err := connect.Dial(t.Context(), k, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	put(unsecured(-time.Minute))
	refused := client.Ping(t.Context()) // on a new connection
	put(unsecured(time.Hour))
	if accepted := client.Ping(t.Context()); !errors.Is(refused, kafkalog.ErrRefused) || accepted != nil {
		t.Errorf("with an expired token: %v; with a new one: %v", refused, accepted)
	}
}

func testTokenEndpoint(t *testing.T, b *realkafka.Broker) {
	var asked atomic.Int64
	valid, dir := atomic.Value{}, t.TempDir()
	valid.Store("s3cret1")
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		id, password, _ := r.BasicAuth()
		switch {
		case r.URL.Path == "/elsewhere":
			http.Redirect(w, r, "/token", http.StatusTemporaryRedirect)
		case id != "tollgate" || password != valid.Load() || r.FormValue("grant_type") != "client_credentials" || r.FormValue("scope") != "kafka write":
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"error":"invalid_client","error_description":"%s is not the secret"}`, password)
		default:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"access_token":"%s","token_type":"bearer","expires_in":11}`, unsecured(time.Hour))
		}
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	put := func(name string, data []byte) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	from := deployment.SASL{
		Mechanism: "oauthbearer", TokenURL: secret.New(s.URL + "/token"), User: "tollgate", PasswordFile: put("secret", []byte("s3cret1\n")), Scopes: []string{"kafka", "write"},
		TokenCAFile: put("ca.pem", deploytest.PEM(s.Certificate().Raw)),
	}
	k := deployment.Kafka{Brokers: []string{b.AddrOf("TOKEN")}, SASL: &from}
	client, err := connect.Dial(t.Context(), k, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.Ping(t.Context()); err != nil || asked.Load() != 1 {
		t.Errorf("a second connection: %v; %d requests for tokens, want 1 while the token is valid", err, asked.Load())
	}
	valid.Store("s3cret2")
	put("secret", []byte("s3cret2\n"))
	// The token counts as expired ten seconds before it is.
	await.That(t, time.Minute, "another token is asked for", func() bool {
		if err := client.Ping(t.Context()); err != nil {
			t.Fatalf("with a new secret: %v", err)
		}
		return asked.Load() == 2
	})

	for name, tt := range map[string]struct {
		change func(s *deployment.SASL)
		says   string
	}{
		"secret": {func(s *deployment.SASL) { s.PasswordFile, s.Password = "", secret.New("s3cret1") }, `for a token of client "tollgate": status 401, error "invalid_client"`},
		"elsewhere": {func(s *deployment.SASL) {
			s.TokenURL = secret.New(strings.Replace(s.TokenURL.Reveal(), "/token", "/elsewhere", 1))
		}, "status 307"},
		"authority": {func(s *deployment.SASL) { s.TokenCAFile = "" }, "unknown authority"},
	} {
		other := from
		tt.change(&other)
		_, err := connect.Dial(t.Context(), deployment.Kafka{Brokers: k.Brokers, SASL: &other}, nil)
		if err == nil || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v does not say %s", name, err, tt.says)
		}
	}
}
