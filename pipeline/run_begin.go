package pipeline

import (
	"context"
	"errors"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/changes"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/topicrules"
	"github.com/tollgate-dp/tollgate/schemas"
)

// begin opens the control log and announces the run on it before it checks the topics. The order of
// announcements decides which of two runs is newer, however long their checks take. begin compares
// the HEADER before it checks the topics: if the configuration names other topics, that explains
// best what is wrong with the topics. It joins a STOP with other errors, which may have caused it.
func begin(ctx context.Context, d *deployment.Deployment, client *kafkalog.Client,
	o topicrules.Options) (*controllog.Log, error) {
	began := time.Now()
	control, _, openErr := openControl(ctx, d, client, o.Logger)
	if errors.Is(openErr, deployment.ErrOtherPromise) || errors.Is(openErr, schemas.ErrVersion) {
		return nil, openErr // no topic rule may advise to recreate a missing topic
	}
	if openErr != nil && time.Since(began) > controllog.SupersededLimit {
		return nil, openErr // the broker did not respond, which no topic rule explains
	}
	var stop *schemas.Stop
	if openErr == nil {
		if err := changes.Agrees(d, control.Header); err != nil {
			return nil, err
		}
		control.WithView(func(v *controllog.View) { stop = v.Stop })
	}
	if openErr == nil && stop == nil { // a supervisor may restart a stopped deployment endlessly
		if err := control.Announce(ctx); err != nil {
			return nil, err
		}
	}
	err := topicrules.Check(ctx, d, client, o)
	switch {
	case err != nil && !errors.Is(err, deployment.ErrTopicSettings):
		return nil, err
	case stop != nil:
		return nil, errors.Join(controllog.Stopped(stop), err)
	case err != nil:
		return nil, err // explains why control could not be opened, if it could not
	}
	return control, openErr
}
