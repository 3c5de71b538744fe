package schemas

import (
	_ "embed" // the schema
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/linkedin/goavro/v2"
)

// TurnEnd stands on the counts topic after the values of a turn, in every partition, for consumers
// only. It may come again, and the pipeline never reads it.
type TurnEnd struct {
	Turn       uint64 // at most 2^63−1
	End        int64  // Unix milliseconds
	Generation uint32
}

//go:embed turnend.avsc
var turnEndSchema string

// TurnEndSchema returns the Avro schema with which the ends of turns are published.
func TurnEndSchema() string { return turnEndSchema }

// turnEndCodec compiles the schema without its annotations, for the reason that releaseCodec has.
var turnEndCodec = sync.OnceValues(func() (*goavro.Codec, error) {
	c, err := goavro.NewCodec(strings.ReplaceAll(turnEndSchema, timestampType, `"long"`))
	if err != nil {
		return nil, fmt.Errorf("compiling the schema of a turn's end: %w", err)
	}
	return c, nil
})

// TurnEndKey returns the Kafka key of every TurnEnd, which no release has.
func TurnEndKey() []byte { return appendPreamble(nil, KindTurnEnd) }

// EncodeTurnEnd encodes a turn's end in Avro's single-object encoding. Errors: ErrInvalid.
func EncodeTurnEnd(e TurnEnd) ([]byte, error) {
	if e.Turn > math.MaxInt64 {
		return nil, invalid(KindTurnEnd, "turn out of range")
	}
	codec, err := turnEndCodec()
	if err != nil {
		return nil, err
	}
	b, err := codec.SingleFromNative(nil, map[string]any{"turn": int64(e.Turn), "end": e.End, "generation": int64(e.Generation)})
	if err != nil {
		return nil, invalid(KindTurnEnd, "refused by Avro")
	}
	return b, nil
}

// DecodeTurnEnd is the inverse of EncodeTurnEnd. Errors: ErrMalformed, ErrVersion.
func DecodeTurnEnd(b []byte) (TurnEnd, error) {
	codec, err := turnEndCodec()
	if err != nil {
		return TurnEnd{}, err
	}
	decoded, rest, err := codec.NativeFromSingle(b)
	var wrong goavro.ErrWrongCodec
	if errors.As(err, &wrong) {
		return TurnEnd{}, &MalformedError{Kind: KindTurnEnd, What: "written with another schema", cause: ErrVersion}
	}
	fields, ok := decoded.(map[string]any)
	if err != nil || !ok || len(rest) != 0 {
		return TurnEnd{}, malformed(KindTurnEnd, "not the Avro encoding of its schema")
	}
	n := native{fields: fields}
	turn, end, generation := fieldOf[int64](&n, "turn"), fieldOf[int64](&n, "end"), fieldOf[int64](&n, "generation")
	switch {
	case n.missing != "":
		return TurnEnd{}, malformed(KindTurnEnd, n.missing+" is missing or of another type")
	case turn < 0 || generation < 0 || generation > math.MaxUint32:
		return TurnEnd{}, malformed(KindTurnEnd, "a number out of range")
	}
	return TurnEnd{Turn: uint64(turn), End: end, Generation: uint32(generation)}, nil
}
