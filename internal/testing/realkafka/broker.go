package realkafka

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/process"
)

// Options configures a broker. The zero value is a broker with only a plain listener.
type Options struct {
	// Settings are added to server.properties. They override the settings of this package.
	Settings map[string]string
	// Listeners are opened in addition to the plain one.
	Listeners []Listener
	// ScramUsers are created when the storage is formatted, from texts like
	// "SCRAM-SHA-256=[name=alice,password=secret]".
	ScramUsers []string
	addrs      []string // addresses of the plain listener and the controller; nil: free ports
}

// Broker is a Kafka process. Except for Addr, its methods are not safe for concurrent use.
type Broker struct {
	java    string
	dir     string            // holds data and logs; Close removes it
	users   []string          // Options.ScramUsers
	flags   []string          // for the JVM, with the class path
	addrs   map[string]string // by name of the listener
	starts  int
	process *process.Process
}

const (
	startTimeout = 90 * time.Second
	stopTimeout  = 30 * time.Second
)

// Start formats the storage and starts a broker. It returns once the broker has responded to a
// client. It returns ErrMissing if Missing does. The caller must Close the broker.
func Start(ctx context.Context, o Options) (*Broker, error) {
	b := &Broker{users: o.ScramUsers, addrs: map[string]string{}}
	java, jars, err := find()
	if err != nil {
		return nil, err
	}
	b.java, b.flags = java, append(jvm(), "-cp", filepath.Join(jars, "*"))
	if b.dir, err = os.MkdirTemp("", "tollgate-kafka-"); err != nil {
		return nil, fmt.Errorf("making a directory for a broker: %w", err)
	}
	if err := b.prepare(ctx, o); err != nil {
		return nil, errors.Join(err, b.remove())
	}
	if err := b.Restart(ctx); err != nil {
		return nil, errors.Join(err, b.remove())
	}
	return b, nil
}

// Addr returns the host:port of the plain listener.
func (b *Broker) Addr() string { return b.addrs[plainListener] }

// AddrOf returns the host:port of one of Options.Listeners, whatever the listener advertises.
func (b *Broker) AddrOf(listener string) string { return b.addrs[listener] }

// prepare chooses ports, writes the configuration and formats the storage.
func (b *Broker) prepare(ctx context.Context, o Options) error {
	ports, err := o.addrs, error(nil)
	if ports == nil {
		ports, err = process.FreeAddrs(2 + len(o.Listeners))
	}
	if err != nil {
		return err
	}
	endpoints := make([]endpoint, 0, 1+len(o.Listeners))
	for i, l := range append([]Listener{{Name: plainListener, Protocol: plainListener}}, o.Listeners...) {
		endpoints = append(endpoints, endpoint{l, ports[i], cmp.Or(l.Advertised, ports[i])})
		b.addrs[l.Name] = ports[i]
	}
	text := properties(endpoints, ports[len(ports)-1], filepath.Join(b.dir, "data"), o.Settings)
	if err := os.WriteFile(b.file("server.properties"), []byte(text), 0o600); err != nil {
		return fmt.Errorf("writing a broker's settings: %w", err)
	}
	if err := os.WriteFile(b.file("log4j2.xml"), []byte(logConfig), 0o600); err != nil {
		return fmt.Errorf("writing a broker's log settings: %w", err)
	}
	return b.format(ctx)
}

func (b *Broker) file(name string) string { return filepath.Join(b.dir, name) }

// Restart starts the broker again after Kill or Stop, with the same address and data.
func (b *Broker) Restart(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	b.starts++
	log := b.file(fmt.Sprintf("broker-%d.log", b.starts))
	p, err := b.launch(log)
	if err != nil {
		return err
	}
	b.process = p
	if err := b.await(ctx, log); err != nil {
		b.Kill()
		return fmt.Errorf("starting Kafka: %w; its log:\n%s", err, process.Tail(log))
	}
	return nil
}

// await waits until the broker has logged that it is ready and has responded to a client.
func (b *Broker) await(ctx context.Context, log string) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if text, err := os.ReadFile(log); err == nil && bytes.Contains(text, []byte(ready)) {
			break
		}
		select {
		case <-tick.C:
		case <-b.process.Gone():
			return errors.New("the process ended")
		case <-ctx.Done():
			return fmt.Errorf("waiting for %q: %w", ready, ctx.Err())
		}
	}
	client, err := kafkalog.Dial(ctx, kafkalog.Config{Brokers: []string{b.Addr()}, RetryFor: 20 * time.Second})
	if err != nil {
		return fmt.Errorf("asking the new broker: %w", err)
	}
	client.Close()
	return nil
}

// Kill ends the process as kill −9 does, and waits until it has ended.
func (b *Broker) Kill() { b.process.Kill() }

// Signal sends a signal to the process. After SIGSTOP it no longer responds.
func (b *Broker) Signal(s os.Signal) { b.process.Signal(s) }

// Stop ends the process with SIGTERM. If it takes too long, Stop kills it and returns an error.
func (b *Broker) Stop() error {
	if err := b.process.Stop(stopTimeout); err != nil {
		return fmt.Errorf("stopping Kafka: %w", err)
	}
	return nil
}

// Close stops the broker and removes its data. Further calls do nothing.
func (b *Broker) Close() error { return errors.Join(b.Stop(), b.remove()) }

func (b *Broker) remove() error {
	if err := os.RemoveAll(b.dir); err != nil {
		return fmt.Errorf("removing a broker's data: %w", err)
	}
	return nil
}
