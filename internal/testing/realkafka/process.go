package realkafka

import (
	"context"
	"fmt"
	"os/exec"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/testing/process"
)

// jvm returns the JVM flags of a broker that runs for minutes and shares its cores with the tests.
// They turn off the optimizing compiler, which would cost more time than it saves.
func jvm() []string { return []string{"-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"} }

func (b *Broker) format(ctx context.Context) error {
	args := append(slices.Clone(b.flags), "kafka.tools.StorageTool", "format", "-t", clusterID, "-c",
		b.file("server.properties"))
	for _, u := range b.users {
		args = append(args, "--add-scram", u)
	}
	if out, err := exec.CommandContext(ctx, b.java, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("formatting Kafka's storage: %w; its output:\n%s", err, out)
	}
	return nil
}

// launch starts the broker's JVM. Its output goes to the file log.
func (b *Broker) launch(log string) (*process.Process, error) {
	args := append(slices.Clone(b.flags), "-Dlog4j2.configurationFile="+b.file("log4j2.xml"), "kafka.Kafka",
		b.file("server.properties"))
	cmd := exec.Command(b.java, args...)
	cmd.Dir = b.dir
	return process.Start(cmd, log)
}
