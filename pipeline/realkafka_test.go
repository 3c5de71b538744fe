package pipeline

import (
	"errors"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/connect"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/internal/testing/realkafka"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/reading"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/secret"
)

// kafkaOf starts Apache Kafka, which ends with the test.
func kafkaOf(t *testing.T, o realkafka.Options) *realkafka.Broker {
	t.Helper()
	long.Test(t)
	switch err := realkafka.Missing(); {
	case err != nil && os.Getenv("TOLLGATE_REQUIRE_KAFKA") == "1":
		t.Fatal(err)
	case err != nil:
		t.Skip(err)
	}
	b := must.Have(realkafka.Start(t.Context(), o))
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// startKafka starts Apache Kafka with every kind of listener.
func startKafka(t *testing.T, f deploytest.PEMFiles) *realkafka.Broker {
	t.Helper()
	pem := func(file string) string {
		data := must.Have(os.ReadFile(file))
		return string(data)
	}
	settings := map[string]string{
		"sasl.enabled.mechanisms":                     "PLAIN,SCRAM-SHA-256",
		"listener.name.mutual.ssl.client.auth":        "required",
		"listener.name.plain.sasl.enabled.mechanisms": "PLAIN",
		"listener.name.plain.plain.sasl.jaas.config": `org.apache.kafka.common.security.plain.PlainLoginModule ` +
			`required user_alice="s3cret";`,
		"listener.name.both.sasl.enabled.mechanisms": "SCRAM-SHA-256",
		"listener.name.both.scram-sha-256.sasl.jaas.config": "org.apache.kafka.common.security." +
			"scram.ScramLoginModule " +
			"required;",
	}
	for _, l := range []string{"tls", "mutual", "both"} {
		maps.Copy(settings, map[string]string{
			"listener.name." + l + ".ssl.keystore.type":              "PEM",
			"listener.name." + l + ".ssl.keystore.key":               pem(f.Key),
			"listener.name." + l + ".ssl.keystore.certificate.chain": pem(f.Cert),
			"listener.name." + l + ".ssl.truststore.type":            "PEM",
			"listener.name." + l + ".ssl.truststore.certificates":    pem(f.Cert),
		})
	}
	return kafkaOf(t, realkafka.Options{
		Settings:   settings,
		ScramUsers: []string{"SCRAM-SHA-256=[name=bob,password=s3cret]"},
		Listeners: []realkafka.Listener{{Name: "TLS", Protocol: "SSL"}, {Name: "MUTUAL", Protocol: "SSL"},
			{Name: "PLAIN", Protocol: "SASL_PLAINTEXT"}, {Name: "BOTH", Protocol: "SASL_SSL"}},
	})
}

// Behaviour that the embedded broker lacks: Apache Kafka's errors, its topic settings, and the ends
// of leader epochs. One broker for all tests, because starting it takes seconds.
func TestApacheKafka(t *testing.T) {
	t.Parallel()
	f := deploytest.WritePEM(t)
	b := startKafka(t, f)
	t.Run("security", func(t *testing.T) { testSecurityOf(t, b, f) })
	t.Run("topics", func(t *testing.T) { testTopicsOf(t, b) })
	t.Run("epochs", func(t *testing.T) { testEpochsOf(t, b) })
}

func testSecurityOf(t *testing.T, b *realkafka.Broker, f deploytest.PEMFiles) {
	ca := &deployment.TLS{CAFile: f.Cert}
	for _, tt := range []struct {
		name     string
		listener string
		k        deployment.Kafka
		says     string // "": it works
	}{
		{"plaintext", "PLAINTEXT", deployment.Kafka{}, ""},
		{"TLS", "TLS", deployment.Kafka{TLS: ca}, ""},
		{"mutual TLS", "MUTUAL", deployment.Kafka{TLS: &deployment.TLS{CAFile: f.Cert, CertFile: f.Cert,
			KeyFile: f.Key}}, ""},
		{"SASL PLAIN", "PLAIN", deployment.Kafka{SASL: &deployment.SASL{Mechanism: "plain", User: "alice",
			Password: secret.New("s3cret")}}, ""},
		{"SCRAM over TLS", "BOTH", deployment.Kafka{TLS: ca, SASL: &deployment.SASL{Mechanism: "scram-sha-256",
			User: "bob", Password: secret.New("s3cret")}}, ""},
		{"password of PLAIN", "PLAIN", deployment.Kafka{SASL: &deployment.SASL{Mechanism: "plain", User: "alice",
			Password: secret.New("s3cret2")}}, `authentication of user "alice" with mechanism PLAIN failed: check ` +
			`user and password`},
		{"password of SCRAM", "BOTH", deployment.Kafka{TLS: ca, SASL: &deployment.SASL{Mechanism: "scram-sha-256",
			User: "bob", Password: secret.New("s3cret2")}}, `authentication of user "bob" with mechanism ` +
			`SCRAM-SHA-256 failed: check user and password`},
		{"mechanism", "PLAIN", deployment.Kafka{SASL: &deployment.SASL{Mechanism: "scram-sha-512", User: "alice",
			Password: secret.New("s3cret")}}, "the listener does not offer SCRAM-SHA-512; it offers: PLAIN"},
		{"no SASL where it is needed", "PLAIN", deployment.Kafka{}, "check whether the configuration needs SASL " +
			"or TLS"},
		{"no SASL where it is needed, with TLS", "BOTH", deployment.Kafka{TLS: ca}, "check whether the configuration " +
			"needs SASL"},
		{"SASL where none is", "PLAINTEXT", deployment.Kafka{SASL: &deployment.SASL{Mechanism: "plain", User: "alice",
			Password: secret.New("s3cret")}}, "this listener has no SASL"},
		{"plaintext to TLS", "TLS", deployment.Kafka{}, "the listener expects TLS: set tls in the configuration"},
		{"TLS to plaintext", "PLAINTEXT", deployment.Kafka{TLS: ca}, "check that this listener speaks TLS"},
		{"another authority", "TLS", deployment.Kafka{TLS: &deployment.TLS{CAFile: deploytest.WritePEM(t).Cert}},
			"the broker's certificate is signed by an unknown authority: check the CA file "},
		{"another host name", "TLS", deployment.Kafka{TLS: &deployment.TLS{CAFile: f.Cert, ServerName: "elsewhere"}},
			"is for another host name"},
		{"no client certificate", "MUTUAL", deployment.Kafka{TLS: ca}, "the broker requires a client certificate: " +
			"configure one"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.k.Brokers = []string{b.AddrOf(tt.listener)}
			client, err := connect.Dial(t.Context(), tt.k, nil)
			if err == nil {
				defer client.Close()
			}
			switch {
			case tt.says == "" && err != nil:
				t.Error(err)
			case tt.says == "":
				if _, err := client.TopicConfig(t.Context(), "nowhere"); !errors.Is(err, kafkalog.ErrUnknownTopic) {
					t.Errorf("settings of an unknown topic: %v", err)
				}
			case !errors.Is(err, kafkalog.ErrRefused) || !strings.Contains(err.Error(), tt.says) ||
				strings.Contains(err.Error(), "s3cret"):
				t.Errorf("%v does not say %q", err, tt.says)
			}
		})
	}
}

func testTopicsOf(t *testing.T, b *realkafka.Broker) {
	cfg := deploytest.Config(b.Addr())
	cfg.Time = deployment.Time{Trust: deployment.TrustBroker}
	d := makeTopics(t, cfg, nil)
	if err := CheckTopics(t.Context(), d, CheckOptions{}); err != nil {
		t.Errorf("as they are made: %v", err)
	}
	cfg.Deployment, cfg.Events.Topic = "wide", "wide-events"
	err := CreateTopics(t.Context(), mustCompile(t, cfg), TopicOptions{EventPartitions: 1, Replication: 3})
	if !errors.Is(err, ErrReplication) || strings.Count(err.Error(), "too few brokers for the replicas: the cluster "+
		"has 1") != 1 || strings.Count(err.Error(), `"wide-`) != 6 {
		t.Errorf("three replicas on one broker: %v", err)
	}
	// A deployment whose topics were all made by hand with the broker's defaults.
	cfg.Deployment, cfg.Events.Topic = "hand", "hand-events"
	hand := makeTopics(t, cfg, func(s specs) {
		for _, spec := range s {
			spec.Config = map[string]string{"retention.ms": "604800000"}
		}
		s["ledger"].Config["unclean.leader.election.enable"] = "true"
	})
	err = CheckTopics(t.Context(), hand, CheckOptions{})
	if err == nil {
		t.Fatal("a broker's defaults were taken")
	}
	for _, says := range []string{
		"topic hand-events: message.timestamp.type is CreateTime, but must be LogAppendTime",
		"topic hand-control: retention.ms is 604800000, but must be -1",
		"topic hand-ledger: cleanup.policy is delete, but must be compact",
		"topic hand-ledger: unclean.leader.election.enable is true, but must be false",
	} {
		if !strings.Contains(err.Error(), says) {
			t.Errorf("%v\ndoes not say\n%s", err, says)
		}
	}
	if n := strings.Count(err.Error(), "but must be"); n != 4 {
		t.Errorf("%d findings:\n%v", n, err)
	}
}

func testEpochsOf(t *testing.T, b *realkafka.Broker) {
	client := must.Have(connect.Dial(t.Context(), deployment.Kafka{Brokers: []string{b.Addr()}}, nil))
	defer client.Close()
	must.Succeed(t, client.CreateTopics(t.Context(), kafkalog.TopicSpec{Name: "elected", Partitions: 1,
		Replication: 1}))
	appendTo(t, client, "elected", 0, eventsAt(time.Now(), 5)...)
	if err := errors.Join(b.Stop(), b.Restart(t.Context())); err != nil { // a new leader epoch
		t.Fatal(err)
	}
	appendTo(t, client, "elected", 0, eventsAt(time.Now(), 3)...)
	var epochs []int32
	err := client.ReadRange(t.Context(), "elected", 0, 0, 8, func(r kafkalog.Record) error {
		epochs = append(epochs, r.LeaderEpoch)
		return nil
	})
	if err != nil || len(epochs) != 8 || epochs[4] != epochs[0] || epochs[5] <= epochs[4] {
		t.Fatalf("the records' epochs are %v, %v", epochs, err)
	}
	before, after := epochs[4], epochs[5]
	for asked, want := range map[int32][2]int64{before: {5, int64(before)}, after: {8, int64(after)},
		after + 5: {-1, -1}} {
		end, epoch, err := client.EpochEnd(t.Context(), "elected", 0, asked)
		if err != nil || end != want[0] || int64(epoch) != want[1] {
			t.Errorf("EpochEnd(%d) = %d, %d, %v; want %v", asked, end, epoch, err, want)
		}
	}
	if present, err := client.LeaderEpoch(t.Context(), "elected", 0); err != nil || present != after {
		t.Errorf("LeaderEpoch = %d, %v; want %d", present, err, after)
	}
	for _, c := range []struct {
		cut   schemas.Cut
		fault bool
	}{{schemas.Cut{Cut: 5, LeaderEpoch: before}, false}, {schemas.Cut{Cut: 8, LeaderEpoch: after}, false},
		{schemas.Cut{Cut: 7, LeaderEpoch: before}, true}, {schemas.Cut{Cut: 8, LeaderEpoch: after + 1}, true}} {
		if err := reading.CheckSameRecordsBelow(t.Context(), client, "elected", 1, &c.cut); errors.Is(err,
			deployment.ErrLogFault) != c.fault || (err != nil && !c.fault) {
			t.Errorf("%+v: %v", c.cut, err)
		}
	}
}
