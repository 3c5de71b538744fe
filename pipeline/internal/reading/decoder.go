package reading

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/registry"
	"github.com/tollgate-dp/tollgate/internal/connect"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// NewDecoder returns the decoder for the deployment's events. Until ctx ends, the decoder reads new
// schemas from the registry. log receives warnings about schemas. Errors: *event.FormatError if the
// newest schema in the registry lacks a configured field, or the registry's error.
func NewDecoder(ctx context.Context, d *deployment.Deployment, log *slog.Logger) (*event.Decoder, error) {
	g := d.Config.Events.Registry
	if g == nil {
		return event.NewDecoder(d.Config.Events.Format)
	}
	client, err := connect.Registry(g, func(why error) {
		log.Warn("waiting for the schema registry: reading continues once it responds", "cause", why)
	})
	if err != nil {
		return nil, err
	}
	if err := checkNewest(ctx, d, client); err != nil {
		return nil, err
	}
	unfit := func(id uint32, reason error) {
		log.Warn("no event can be read with this schema: its records become dead letters. "+
			"If they belong on the topic, correct the producer or the configuration, and send them again",
			"schema", id, "topic", d.Config.Events.Topic, "class", event.ClassUnfitSchema, "cause", reason)
	}
	return event.NewDecoder(d.Config.Events.Format, event.WithSchemas(ctx, client), event.OnUnfitSchema(unfit))
}

// checkNewest returns an error if the registry does not respond, or if its newest schema lacks a
// configured field or has another type for the time. It checks only the subject that producers use
// by default, if the registry contains it. Any other schema affects only the records that refer to
// it.
func checkNewest(ctx context.Context, d *deployment.Deployment, client *registry.Client) error {
	subject := d.Config.Events.Topic + "-value"
	text, err := client.Latest(ctx, subject)
	if errors.Is(err, event.ErrUnknownSchema) {
		return nil
	}
	if err != nil {
		return err
	}
	f := d.Config.Events.Format
	f.Schema = text
	if err := f.Check(); err != nil {
		return fmt.Errorf("checking the newest schema of %s in the registry: %w: configure fields of the schema, or "+
			"register a schema with these fields", subject, err)
	}
	return nil
}
