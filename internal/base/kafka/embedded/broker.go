package embedded

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/tollgate-dp/tollgate/schemas/secret"
)

// Options configures a broker. The zero value is a broker in memory on a free port of 127.0.0.1.
type Options struct {
	Addr     string            // host:port to listen on; default "127.0.0.1:0"
	DataDir  string            // directory of the log; empty: the log is only in memory
	Password secret.Of[string] // of User, for SCRAM-SHA-256; empty: clients connect without authentication
	Logger   *slog.Logger      // receives the broker's errors and warnings; nil: no log
}

// User is the name of the only user of a broker with a password.
const User = "tollgate"

// Broker is a running broker. It is safe for concurrent use.
type Broker struct {
	cluster *kfake.Cluster
	addr    string
	close   sync.Once
}

// Start starts a broker. It keeps records of any age (log.retention.ms = -1). Start fails if the
// address is in use or DataDir cannot be used. The caller must Close the broker.
func Start(o Options) (*Broker, error) { return start(o) }

func start(o Options, extra ...kfake.Opt) (*Broker, error) {
	addr := cmp.Or(o.Addr, "127.0.0.1:0")
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return nil, fmt.Errorf("starting the embedded broker: address %q is not host:port: %w", addr, err)
	}
	opts := []kfake.Opt{
		kfake.NumBrokers(1),
		kfake.ListenFn(func(network, _ string) (net.Listener, error) { return net.Listen(network, addr) }),
		// Retention depends on the timestamps of records: with the default of a week, old events
		// would vanish.
		kfake.BrokerConfigs(map[string]string{"log.retention.ms": "-1"}),
	}
	if o.DataDir != "" {
		opts = append(opts, kfake.DataDir(o.DataDir),
			kfake.ClusterID(fmt.Sprintf("embedded-%x", sha256.Sum256([]byte(o.DataDir)))[:30]))
	} else {
		opts = append(opts, kfake.ClusterID("embedded-"+rand.Text()))
	}
	if password := o.Password.Reveal(); password != "" {
		opts = append(opts, kfake.EnableSASL(), kfake.Superuser("SCRAM-SHA-256", User, password))
	}
	if o.Logger != nil {
		opts = append(opts, kfake.WithLogger(logger{o.Logger}))
	}
	cluster, err := kfake.NewCluster(append(opts, extra...)...)
	if err != nil {
		return nil, fmt.Errorf("starting the embedded broker on %s: %w", addr, err)
	}
	addrs := cluster.ListenAddrs()
	if len(addrs) != 1 {
		cluster.Close()
		return nil, errors.New("starting the embedded broker: no listener")
	}
	return &Broker{cluster: cluster, addr: addrs[0]}, nil
}

// Addr returns the host:port to which clients connect.
func (b *Broker) Addr() string { return b.addr }

// Close stops the broker and waits for its log to be written. Further calls do nothing.
func (b *Broker) Close() { b.close.Do(b.cluster.Close) }

// logger logs the broker's warnings and errors, but no other messages.
type logger struct{ to *slog.Logger }

// slowCommit is the start of the broker's message about a commit that took 10 ms. The message shows
// only that the machine is busy.
const slowCommit = "txn: EndTxn slow"

func (l logger) Logf(level kfake.LogLevel, format string, args ...any) {
	switch level {
	case kfake.LogLevelError:
		l.to.Log(context.Background(), slog.LevelError, "embedded broker: "+fmt.Sprintf(format, args...))
	case kfake.LogLevelWarn:
		if strings.HasPrefix(format, slowCommit) {
			return
		}
		l.to.Log(context.Background(), slog.LevelWarn, "embedded broker: "+fmt.Sprintf(format, args...))
	}
}
