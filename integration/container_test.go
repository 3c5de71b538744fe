package integration

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/wait"

	"github.com/tollgate-dp/tollgate/internal/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/realkafka"
)

// imageVariable names the image of a broker in a container: java in the path, Kafka's jars in
// /opt/kafka/libs.
const imageVariable = "TOLLGATE_KAFKA_IMAGE"

const defaultImage = "apache/kafka:4.1.1"

// imageTimeout is for a first start, which may have to pull the image.
const imageTimeout = 5 * time.Minute

// kafkaContainer is Apache Kafka in a container.
type kafkaContainer struct {
	container testcontainers.Container
	provider  *testcontainers.DockerProvider
	addr      string
}

// startContainer starts a broker where a Docker engine answers. The port is the same inside and
// outside: the broker tells clients where it is before the engine could say which port it has
// chosen, and comes to itself by that address, too.
func startContainer() (testBroker, func(), error) {
	ctx, cancel := context.WithTimeout(context.Background(), imageTimeout)
	defer cancel()
	provider, err := dockerEngine(ctx)
	if err != nil {
		return nil, nil, err
	}
	host, err := provider.DaemonHost(ctx)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("asking where containers' ports are: %w", err), provider.Close())
	}
	port, err := freePort()
	if err != nil {
		return nil, nil, errors.Join(err, provider.Close())
	}
	k := &kafkaContainer{provider: provider, addr: net.JoinHostPort(host, port)}
	k.container, err = testcontainers.GenericContainer(ctx, testcontainers.GenericContainerRequest{
		ContainerRequest: request(port, k.addr), Started: true,
	})
	if err == nil {
		err = k.await(ctx)
	}
	if err != nil {
		k.end()
		return nil, nil, fmt.Errorf("starting Kafka in a container: %w", err)
	}
	return k, k.end, nil
}

// dockerEngine connects to the engine of DOCKER_HOST or of the default socket.
func dockerEngine(ctx context.Context) (p *testcontainers.DockerProvider, err error) {
	defer func() { // the library gives up on a host that is not there by a panic
		if r := recover(); r != nil {
			p, err = nil, fmt.Errorf("no Docker engine answers: %v", r)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	p, err = testcontainers.NewDockerProvider()
	if err == nil {
		if err = p.Health(ctx); err != nil {
			err = errors.Join(err, p.Close())
		}
	}
	if err != nil {
		return nil, fmt.Errorf("no Docker engine answers (DOCKER_HOST, or the default socket): %w", err)
	}
	return p, nil
}

func request(port, advertised string) testcontainers.ContainerRequest {
	image := os.Getenv(imageVariable)
	if image == "" {
		image = defaultImage
	}
	const home, controllerInside = "/tmp/kafka", "127.0.0.1:9093" // inside the container, below the ports that are chosen
	settings := realkafka.Properties("0.0.0.0:"+port, advertised, controllerInside, home, nil)
	file := func(path, content string) testcontainers.ContainerFile {
		return testcontainers.ContainerFile{Reader: strings.NewReader(content), ContainerFilePath: path, FileMode: 0o644}
	}
	return testcontainers.ContainerRequest{
		Image:          image,
		Entrypoint:     []string{"sh", "-c", realkafka.Script("/opt/kafka/libs", home, "/tmp/server.properties", "/tmp/log4j2.xml")},
		ExposedPorts:   []string{port + "/tcp"},
		ConfigModifier: func(c *container.Config) { c.StopSignal = "SIGKILL" },
		HostConfigModifier: func(c *container.HostConfig) {
			c.PortBindings = network.PortMap{network.MustParsePort(port + "/tcp"): {{HostPort: port}}}
		},
		Files:      []testcontainers.ContainerFile{file("/tmp/server.properties", settings), file("/tmp/log4j2.xml", realkafka.LogConfig)},
		WaitingFor: wait.ForLog("Kafka Server started").WithStartupTimeout(imageTimeout),
	}
}

// await waits for the broker's answer to a client.
func (k *kafkaContainer) await(ctx context.Context) error {
	c, err := kafkalog.Dial(ctx, kafkalog.Config{Brokers: []string{k.addr}, RetryFor: patience, Logger: quiet()})
	for began := time.Now(); errors.Is(err, kafkalog.ErrUnreachable) || errors.Is(err, kafkalog.ErrRefused); {
		if time.Since(began) > patience {
			return err
		}
		time.Sleep(100 * time.Millisecond) // before it is dialled again
		c, err = kafkalog.Dial(ctx, kafkalog.Config{Brokers: []string{k.addr}, RetryFor: patience, Logger: quiet()})
	}
	if err != nil {
		return err
	}
	c.Close()
	return nil
}

func (k *kafkaContainer) address() string { return k.addr }

// kill sends the stop signal, which request has made SIGKILL.
func (k *kafkaContainer) kill() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := k.container.Stop(ctx, nil); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

func (k *kafkaContainer) restart(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := errors.Join(k.container.Start(ctx), k.await(ctx)); err != nil {
		t.Fatalf("starting the container again: %v", err)
	}
}

// end removes the container.
func (k *kafkaContainer) end() {
	err := testcontainers.TerminateContainer(k.container)
	if err := errors.Join(err, k.provider.Close()); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		return "", fmt.Errorf("looking for a free port: %w", err)
	}
	defer func() { _ = l.Close() }()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}
