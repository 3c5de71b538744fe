package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/connect"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
)

// openDeployment connects to Kafka and calls openControl. Without an error, close the client.
func openDeployment(ctx context.Context, d *deployment.Deployment, log *slog.Logger) (client *kafkalog.Client,
	control *controllog.Log, elsewhere *deployment.Beginning, err error) {
	if client, err = connect.Dial(ctx, d.Config.Kafka, nil); err != nil {
		return nil, nil, nil, err
	}
	if control, elsewhere, err = openControl(ctx, d, client, log); err != nil {
		client.Close()
	}
	return client, control, elsewhere, err
}

// openControl opens the control log and compares its deployment with the record kept with the keys.
// If the record lists the deployment on another cluster, openControl returns that entry as
// elsewhere. It returns the errors of controllog.Open, and ErrOtherPromise if the record does not
// list the deployment, or if it lists a deployment but control contains none.
func openControl(ctx context.Context, d *deployment.Deployment, client *kafkalog.Client,
	log *slog.Logger) (control *controllog.Log, elsewhere *deployment.Beginning, err error) {
	topic, record := d.Config.Outputs.Control, d.Config.Record
	control, err = controllog.Open(ctx, client, topic, d.Config.LedgerSlots, log)
	lost := errors.Is(err, deployment.ErrNotInitialised) || errors.Is(err, kafkalog.ErrUnknownTopic)
	if record == nil || err != nil && !lost {
		return control, nil, err
	}
	cluster, clusterErr := client.ClusterID(ctx)
	switch {
	case clusterErr != nil:
		return nil, nil, clusterErr
	case lost:
		if lostErr := record.Lost(topic, cluster); lostErr != nil {
			err = lostErr
		}
		return nil, nil, err
	}
	if elsewhere, err = record.Check(control.Header.Incarnation, cluster); err != nil {
		return nil, nil, fmt.Errorf("opening topic %s: %w", topic, err)
	}
	if elsewhere != nil {
		log.Warn(fmt.Sprintf("the deployment is on cluster %s, but %s lists %s: after a failover or a restore, end "+
			"every run on the other cluster, because runs on both would give every user two budgets", cluster,
			record.From, elsewhere))
	}
	return control, elsewhere, nil
}

// ClusterID returns the id of the deployment's Kafka cluster.
func ClusterID(ctx context.Context, d *deployment.Deployment) (string, error) {
	client, err := connect.Dial(ctx, d.Config.Kafka, nil)
	if err != nil {
		return "", err
	}
	defer client.Close()
	return client.ClusterID(ctx)
}
