package realkafka

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/testing/process"
)

// A broker of tests lives for minutes and shares two cores with them: no time for the second
// compiler.
func jvm() []string { return []string{"-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"} }

// Script returns a shell script that formats the storage in dir where that has not been done and
// then becomes the broker, for a container. The other arguments are the directory of the jars, the
// settings and the log4j2 configuration.
func Script(jars, dir, properties, logConfig string) string {
	java := fmt.Sprintf("java %s -cp '%s/*'", strings.Join(jvm(), " "), jars)
	return fmt.Sprintf("test -f %s/meta.properties || %s kafka.tools.StorageTool format -t %s -c %s || exit 1\n"+
		"exec %s -Dlog4j2.configurationFile=%s kafka.Kafka %s\n", dir, java, ClusterID, properties, java, logConfig, properties)
}

// format prepares the storage once.
func (b *Broker) format(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(b.dir, "data", "meta.properties")); err == nil {
		return nil
	}
	args := append(slices.Clone(b.flags), "kafka.tools.StorageTool", "format", "-t", b.cluster, "-c", b.file("server.properties"))
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
	args := append(slices.Clone(b.flags), "-Dlog4j2.configurationFile="+b.file("log4j2.xml"), "kafka.Kafka", b.file("server.properties"))
	return launch(b.java, b.dir, log, args)
}

// launch starts a JVM in a directory, with its output in a file.
func launch(java, dir, log string, args []string) (*process.Process, error) {
	cmd := exec.Command(java, args...)
	cmd.Dir = dir
	return process.Start(cmd, log)
}
