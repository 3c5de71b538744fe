package schemas

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
)

// TurnEnd tells consumers of counts that a turn is settled: every value that will ever be released
// for a window ending at or before End is at an offset below CountsEnd. It is written to the turns
// topic, where it may be repeated. A later TurnEnd implies all earlier ones.
type TurnEnd struct {
	Turn       uint64 // at most 2^63−1
	End        int64  // Unix milliseconds
	Generation uint32
	Counts     string  // topic of the values
	CountsEnd  []int64 // offset after the last value, by partition of Counts
}

// turnEndJSON is the JSON form of a TurnEnd.
type turnEndJSON struct {
	Turn       *uint64 `json:"turn"`
	End        string  `json:"end"`
	Generation *uint32 `json:"generation"`
	Counts     string  `json:"counts"`
	CountsEnd  []int64 `json:"counts_end"`
}

// TurnEndKey returns the Kafka key that all TurnEnds have.
func TurnEndKey() []byte { return []byte("settled") }

func (e *TurnEnd) check() string {
	switch {
	case e.Turn > math.MaxInt64:
		return "turn out of range"
	case len(e.Counts) > maxTextBytes:
		return "the name of a topic is too long"
	case e.CountsEnd == nil:
		return "there are no partitions of counts"
	}
	for _, offset := range e.CountsEnd {
		if offset < 0 {
			return "an offset out of range"
		}
	}
	return ""
}

// EncodeTurnEnd encodes a turn's end as JSON. The time is in RFC 3339 with Z. Errors: ErrInvalid.
func EncodeTurnEnd(e TurnEnd) ([]byte, error) {
	if what := e.check(); what != "" {
		return nil, invalid(KindTurnEnd, what)
	}
	b, err := json.Marshal(turnEndJSON{Turn: &e.Turn, End: formatMillis(e.End), Generation: &e.Generation,
		Counts: e.Counts, CountsEnd: e.CountsEnd})
	if err != nil {
		return nil, fmt.Errorf("encoding a turn's end: %w", err)
	}
	return b, nil
}

// DecodeTurnEnd is the inverse of EncodeTurnEnd. It ignores fields of later versions. Errors:
// ErrMalformed.
func DecodeTurnEnd(b []byte) (TurnEnd, error) {
	var j turnEndJSON
	d := json.NewDecoder(bytes.NewReader(b))
	if err := d.Decode(&j); err != nil {
		return TurnEnd{}, malformed(KindTurnEnd, "not the JSON of a turn's end")
	}
	if _, err := d.Token(); err != io.EOF {
		return TurnEnd{}, malformed(KindTurnEnd, "bytes left over")
	}
	if j.Turn == nil || j.Generation == nil {
		return TurnEnd{}, malformed(KindTurnEnd, "turn or generation is missing")
	}
	end, ok := parseMillis(j.End)
	if !ok {
		return TurnEnd{}, malformed(KindTurnEnd, "end is not a time of whole milliseconds")
	}
	e := TurnEnd{Turn: *j.Turn, End: end, Generation: *j.Generation, Counts: j.Counts, CountsEnd: j.CountsEnd}
	if what := e.check(); what != "" {
		return TurnEnd{}, malformed(KindTurnEnd, what)
	}
	return e, nil
}
