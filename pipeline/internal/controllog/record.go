package controllog

import (
	"errors"
	"fmt"

	"github.com/tollgate-dp/tollgate/internal/base/hooks/crashpoint"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
)

// controlPoints returns the crash points before and after a record is written to control.
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

// Decode decodes a record of control. ours is false for a foreign record, which has no effect. For
// a damaged record, or one of another version, Decode returns deployment.ErrLogFault with the
// offset and a remedy: a run cannot continue without knowing the meaning of the record.
func Decode(r *kafkalog.Record) (c schemas.Control, ours bool, err error) {
	if !schemas.Ours(r.Value) {
		return c, false, nil
	}
	if c, err = schemas.DecodeControl(r.Value); err == nil {
		return c, true, nil
	}
	return c, true, unreadable(r.Offset, err)
}

// unreadable returns the deployment.ErrLogFault, with a remedy, of a record that cannot be decoded,
// or cannot be joined with its previous parts.
func unreadable(offset int64, err error) error {
	remedy := ""
	if !errors.Is(err, schemas.ErrVersion) {
		remedy = "; it is damaged: restore the topic from a copy, or begin a new deployment with new keys"
	}
	return fmt.Errorf("at offset %d of partition %d: %w%s: %w", offset, Partition, err, remedy, deployment.ErrLogFault)
}
