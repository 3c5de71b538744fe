package controllog

import (
	"errors"
	"fmt"

	"github.com/tollgate-dp/tollgate/internal/base/hooks/crashpoint"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
)

// controlPoints returns the crash points before and after writing a record to control.
func controlPoints(b schemas.ControlBody) (before, after string) {
	switch b.(type) {
	case *schemas.Epoch:
		return crashpoint.EpochWriting, crashpoint.EpochWritten
	case *schemas.Close:
		return crashpoint.CloseWriting, crashpoint.CloseWritten
	case *schemas.Settled:
		return crashpoint.SettledWriting, crashpoint.SettledWritten
	case *schemas.Passed:
		return crashpoint.PassedWriting, crashpoint.PassedWritten
	case *schemas.Reader:
		return crashpoint.ReaderWriting, crashpoint.ReaderWritten
	case *schemas.Drain:
		return crashpoint.DrainWriting, crashpoint.DrainWritten
	case *schemas.Generation:
		return crashpoint.GenerationWriting, crashpoint.GenerationWritten
	}
	return "", ""
}

// Decode decodes a record of control. ours is false for a foreign record, which has no effect. A
// damaged record, or one of another version, is a deployment.ErrLogFault with its offset and a
// remedy: a run cannot continue without knowing its meaning.
func Decode(r *kafkalog.Record) (c schemas.Control, ours bool, err error) {
	if !schemas.Ours(r.Value) {
		return c, false, nil
	}
	if c, err = schemas.DecodeControl(r.Value); err == nil {
		return c, true, nil
	}
	return c, true, unreadable(r.Offset, err)
}

// unreadable returns the deployment.ErrLogFault, with a remedy, for a record that cannot be
// decoded, or joined with its previous parts.
func unreadable(offset int64, err error) error {
	remedy := ""
	if !errors.Is(err, schemas.ErrVersion) {
		remedy = "; it is damaged: restore the topic from a copy, or begin a new deployment with new keys"
	}
	return fmt.Errorf("at offset %d of partition %d: %w%s: %w", offset, Partition, err, remedy, deployment.ErrLogFault)
}
