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

// begin opens the control log and announces the run there before it checks the topics: of two runs,
// the one announced last is the newer, however long its checks take. It compares the HEADER before
// it checks the topics, because different topic names in the configuration best explain what is
// wrong with the topics. It returns a STOP together with other errors, which may have caused it.
func begin(ctx context.Context, d *deployment.Deployment, client *kafkalog.Client,
	o topicrules.Options) (*controllog.Log, error) {
	began := time.Now()
	control, _, failed := openControl(ctx, d, client, o.Logger)
	if errors.Is(failed, deployment.ErrOtherPromise) || errors.Is(failed, schemas.ErrVersion) {
		return nil, failed // a missing topic must not be recreated
	}
	if failed != nil && time.Since(began) > controllog.SupersededLimit {
		return nil, failed // the broker did not respond, and no topic rule explains that
	}
	var stop *schemas.Stop
	if failed == nil {
		if err := changes.Agrees(d, control.Header); err != nil {
			return nil, err
		}
		control.WithView(func(v *controllog.View) { stop = v.Stop })
	}
	if failed == nil && stop == nil { // a supervisor may restart a stopped deployment forever
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
		return nil, err // even if control could not be opened: these findings explain why
	}
	return control, failed
}
