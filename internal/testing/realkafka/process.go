package realkafka

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/testing/process"
)

// jvm returns flags for a broker that runs for minutes and shares its cores with the tests: the
// optimizing compiler would cost more time than it saves.
func jvm() []string { return []string{"-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"} }

// format prepares the storage once.
func (b *Broker) format(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(b.dir, "data", "meta.properties")); err == nil {
		return nil
	}
	args := append(slices.Clone(b.flags), "kafka.tools.StorageTool", "format", "-t", b.cluster, "-c",
		b.file("server.properties"))
	for _, u := range b.users {
		args = append(args, "--add-scram", u)
	}
	if out, err := exec.CommandContext(ctx, b.java, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("formatting Kafka's storage: %w; it said:\n%s", err, out)
	}
	return nil
}

// launch starts the broker's JVM with its output in a file.
func (b *Broker) launch(log string) (*process.Process, error) {
	args := append(slices.Clone(b.flags), "-Dlog4j2.configurationFile="+b.file("log4j2.xml"), "kafka.Kafka",
		b.file("server.properties"))
	return launch(b.java, b.dir, log, args)
}

// launch starts a JVM in a directory, with its output in a file.
func launch(java, dir, log string, args []string) (*process.Process, error) {
	cmd := exec.Command(java, args...)
	cmd.Dir = dir
	return process.Start(cmd, log)
}
