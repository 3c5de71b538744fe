package realkafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/tollgate-dp/tollgate/internal/testing/process"
)

// StartCluster starts the brokers of one cluster, numbered from 1. Each is also a controller.
// Internal topics have copies on up to three brokers. Options must not have Listeners. It returns
// ErrMissing if Missing does. The caller must Close every broker.
func StartCluster(ctx context.Context, nodes int, o Options) ([]*Broker, error) {
	ports, err := process.FreeAddrs(2 * nodes)
	if err != nil {
		return nil, err
	}
	var voters []string
	for i := range nodes {
		voters = append(voters, fmt.Sprintf("%d@%s", i+1, ports[2*i+1]))
	}
	copies := min(nodes, 3)
	brokers := make([]*Broker, nodes)
	var starting errgroup.Group
	for i := range brokers {
		node := o
		node.addrs = ports[2*i : 2*i+2]
		node.Settings = map[string]string{
			"node.id": fmt.Sprint(i + 1), "controller.quorum.voters": strings.Join(voters, ","),
			"offsets.topic.replication.factor":                 fmt.Sprint(copies),
			"transaction.state.log.replication.factor":         fmt.Sprint(copies),
			"transaction.state.log.min.isr":                    fmt.Sprint((copies + 1) / 2),
			"share.coordinator.state.topic.replication.factor": fmt.Sprint(copies),
			"min.insync.replicas":                              fmt.Sprint((copies + 1) / 2),
			"default.replication.factor":                       fmt.Sprint(copies),
		}
		maps.Copy(node.Settings, o.Settings)
		starting.Go(func() (err error) {
			brokers[i], err = Start(ctx, node)
			return err
		})
	}
	if err := starting.Wait(); err != nil {
		for _, b := range brokers {
			if b != nil {
				err = errors.Join(err, b.Close())
			}
		}
		return nil, fmt.Errorf("starting %d brokers: %w", nodes, err)
	}
	return brokers, nil
}

// Addrs returns the addresses of brokers, separated by commas.
func Addrs(brokers []*Broker) string {
	var all []string
	for _, b := range brokers {
		all = append(all, b.Addr())
	}
	return strings.Join(all, ",")
}
