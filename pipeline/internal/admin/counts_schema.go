package admin

import (
	"context"
	"errors"
	"fmt"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/registry"
	"github.com/tollgate-dp/tollgate/internal/connect"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// RegisterCounts returns the encoding of counts under a configuration. For schemas.CountsAvro it
// registers the schema of releases under the subject of the counts topic if necessary. Errors:
// registry.ErrIncompatible, registry.ErrUnsupported, registry.ErrUnauthorized,
// registry.ErrUnreachable, or the error of ctx.
func RegisterCounts(ctx context.Context, d *deployment.Deployment) (schemas.CountsEncoding, error) {
	return countsEncoding(d, func(client *registry.Client, subject string) (uint32, error) {
		id, err := client.Register(ctx, subject, schemas.ReleaseSchema())
		if errors.Is(err, registry.ErrIncompatible) {
			err = fmt.Errorf("%w: the subject already has another schema: name another counts topic "+
				"(outputs.counts), or let the registry accept this schema there (compatibility NONE)", err)
		}
		return id, err
	})
}

// LookUpCounts is RegisterCounts without registering. The SchemaID is 0 if the schema of releases
// is not registered under the subject of the counts topic.
func LookUpCounts(ctx context.Context, d *deployment.Deployment) (schemas.CountsEncoding, error) {
	return countsEncoding(d, func(client *registry.Client, subject string) (uint32, error) {
		id, err := client.Lookup(ctx, subject, schemas.ReleaseSchema())
		if errors.Is(err, event.ErrUnknownSchema) {
			return 0, nil
		}
		return id, err
	})
}

// CheckCounts returns deployment.ErrCountsSchema if the configured registry does not return the
// schema of releases for the id in h, because consumers could then not read counts. Other errors
// are the same as for RegisterCounts. Runs do not contact the registry about counts.
func CheckCounts(ctx context.Context, d *deployment.Deployment, h *schemas.Header) error {
	if h.Counts.Format != schemas.CountsAvro || d.Config.Outputs.Registry == nil {
		return nil
	}
	_, err := countsEncoding(d, func(client *registry.Client, _ string) (uint32, error) {
		text, err := client.Schema(ctx, h.Counts.SchemaID)
		same, _ := event.SameSchema(schemas.ReleaseSchema(), text) // the registry may have reformatted it
		problem := "has no schema with that id"
		switch {
		case errors.Is(err, event.ErrUnfitSchema), err == nil && !same:
			problem = "has another schema under that id"
		case err == nil || !errors.Is(err, event.ErrUnknownSchema):
			return h.Counts.SchemaID, err
		}
		return 0, fmt.Errorf("generation %d writes values with the schema id %d, but the registry %s %s: %w: correct "+
			"outputs.registry. If this registry replaces the one where tollgate init registered the schema, drain the "+
			"run and run tollgate change, which registers it here", h.Generation, h.Counts.SchemaID,
			d.Config.Outputs.Registry.URL, problem, deployment.ErrCountsSchema)
	})
	return err
}

// countsEncoding returns the encoding of counts under a configuration. Its schema id is the one
// that idOf returns for the subject of the counts topic.
func countsEncoding(d *deployment.Deployment,
	idOf func(client *registry.Client, subject string) (uint32, error)) (schemas.CountsEncoding, error) {
	out := &d.Config.Outputs
	enc := schemas.CountsEncoding{Format: out.CountsFormat}
	if enc.Format != schemas.CountsAvro {
		return enc, nil
	}
	client, err := connect.Registry(out.Registry, nil)
	if err != nil {
		return enc, err
	}
	defer client.Close()
	if enc.SchemaID, err = idOf(client, countsSubject(out.Counts)); err != nil {
		return enc, fmt.Errorf("finding the schema of counts: %w", err)
	}
	return enc, nil
}

// countsSubject returns the registry's default subject for the values of a topic.
func countsSubject(topic string) string { return topic + "-value" }
