package realkafka

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// clusterID consists of 22 arbitrary characters of base64.
const clusterID = "dG9sbGdhdGUta2Fma2EtMQ"

// Listener is a listener in addition to the plain one. Its settings ("listener.name.<name in lower
// case>.…", "ssl.…", "sasl.enabled.mechanisms") belong in Options.Settings.
type Listener struct {
	Name     string // upper-case letters
	Protocol string // PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL
	// Advertised is the host:port to which the broker refers clients of this listener, for a proxy
	// in between. If it is empty, the broker refers them to the listener's own address.
	Advertised string
}

// endpoint is a listener with its bind address and its advertised address.
type endpoint struct {
	Listener
	bind, advertised string
}

const (
	plainListener      = "PLAINTEXT"
	controllerListener = "CONTROLLER"
)

func properties(endpoints []endpoint, controller, dir string, extra map[string]string) string {
	all := map[string]string{
		"process.roles":                                    "broker,controller",
		"node.id":                                          "1",
		"controller.quorum.voters":                         "1@" + controller,
		"controller.listener.names":                        controllerListener,
		"inter.broker.listener.name":                       plainListener,
		"log.dirs":                                         dir,
		"offsets.topic.replication.factor":                 "1",
		"offsets.topic.num.partitions":                     "1",
		"transaction.state.log.replication.factor":         "1",
		"transaction.state.log.min.isr":                    "1",
		"transaction.state.log.num.partitions":             "4",
		"share.coordinator.state.topic.replication.factor": "1",
		"share.coordinator.state.topic.min.isr":            "1",
		"auto.create.topics.enable":                        "false",
		"group.initial.rebalance.delay.ms":                 "0",
		// When a killed broker restarts, it waits for the end of its old session.
		"broker.heartbeat.interval.ms": "500",
		"broker.session.timeout.ms":    "2000",
		// Background work must happen during a test.
		"log.cleaner.backoff.ms":              "500",
		"log.retention.check.interval.ms":     "1000",
		"log.initial.task.delay.ms":           "500",
		"log.cleaner.dedupe.buffer.size":      "4194304",
		"log.index.size.max.bytes":            "1048576",
		"log.retention.ms":                    "-1", // old events remain
		"log.message.timestamp.after.max.ms":  "9223372036854775807",
		"log.message.timestamp.before.max.ms": "9223372036854775807",
	}
	listeners := []string{controllerListener + "://" + controller}
	advertised := []string{}
	protocols := []string{controllerListener + ":PLAINTEXT"}
	for _, e := range endpoints {
		listeners = append(listeners, e.Name+"://"+e.bind)
		advertised = append(advertised, e.Name+"://"+e.advertised)
		protocols = append(protocols, e.Name+":"+e.Protocol)
	}
	all["listeners"] = strings.Join(listeners, ",")
	all["advertised.listeners"] = strings.Join(advertised, ",")
	all["listener.security.protocol.map"] = strings.Join(protocols, ",")
	maps.Copy(all, extra)
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, "%s=%s\n", key, escape(all[key]))
	}
	return b.String()
}

// escape encodes a value for Java's Properties. PEM texts have line breaks.
func escape(value string) string {
	return strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(value)
}

// logConfig is a log4j2 configuration that writes to standard output: warnings, and the message
// ready. Without a configuration the broker logs nothing.
const logConfig = `<Configuration status="WARN">
  <Appenders>
    <Console name="out"><PatternLayout pattern="%d{HH:mm:ss.SSS} %p %m (%c{1})%n"/></Console>
  </Appenders>
  <Loggers>
    <Logger name="kafka.server.KafkaRaftServer" level="INFO"/>
    <Root level="WARN"><AppenderRef ref="out"/></Root>
  </Loggers>
</Configuration>
`

// ready is the message that the broker logs when it is ready.
const ready = "Kafka Server started"
