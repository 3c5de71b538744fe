package pipeline

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/connect"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/internal/testing/realkafka"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// unsecured returns a token without a signature, which Kafka accepts by default.
func unsecured(life time.Duration) string {
	now := time.Now().Unix()
	part := func(json string) string { return base64.RawURLEncoding.EncodeToString([]byte(json)) }
	return part(`{"alg":"none"}`) + "." + part(fmt.Sprintf(`{"sub":"alice","iat":%d,"exp":%d}`, now-3600,
		now+int64(life.Seconds()))) + "."
}

// Apache Kafka takes a token from a file, and another one that replaces it.
func TestTokensOnApacheKafka(t *testing.T) {
	t.Parallel()
	b := kafkaOf(t, realkafka.Options{
		Listeners: []realkafka.Listener{{Name: "TOKEN", Protocol: "SASL_PLAINTEXT"}},
		Settings: map[string]string{
			"sasl.enabled.mechanisms":                     "OAUTHBEARER",
			"listener.name.token.sasl.enabled.mechanisms": "OAUTHBEARER",
			"listener.name.token.oauthbearer.sasl.jaas.config": "org.apache.kafka.common.security." +
				"oauthbearer.OAuthBearerLoginModule " +
				"required unsecuredLoginStringClaim_sub=\"broker\";",
		},
	})
	file := filepath.Join(t.TempDir(), "token")
	put := func(token string) {
		must.Succeed(t, os.WriteFile(file, []byte(token+"\n"), 0o600))
	}
	k := deployment.Kafka{Brokers: []string{b.AddrOf("TOKEN")}, SASL: &deployment.SASL{Mechanism: "oauthbearer",
		TokenFile: file, Extensions: []string{"logicalCluster=lkc"}}}
	put(unsecured(-time.Minute))
	_, err := connect.Dial(t.Context(), k, nil)
	if !errors.Is(err, kafkalog.ErrRefused) || !strings.Contains(err.Error(), "check that the broker accepts this "+
		"token, and that it has not expired") || strings.Contains(err.Error(), "eyJ") {
		t.Errorf("an expired token: %v", err)
	}
	put(unsecured(time.Hour))
	client := must.Have(connect.Dial(t.Context(), k, nil))
	defer client.Close()
	put(unsecured(-time.Minute))
	refused := client.Ping(t.Context()) // on a new connection
	put(unsecured(time.Hour))
	if accepted := client.Ping(t.Context()); !errors.Is(refused, kafkalog.ErrRefused) || accepted != nil {
		t.Errorf("with an expired token: %v; with a new one: %v", refused, accepted)
	}
}
