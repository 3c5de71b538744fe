package schemas

import (
	"crypto/sha256"
	"fmt"

	"github.com/tollgate-dp/tollgate/state/units"
)

// Settled is the result of a turn: the final precision of every released cell and, for each metric,
// the precision that is charged for a key that Keys does not list. Users are charged accordingly.
type Settled struct {
	Epoch int64
	Turn  uint64

	// SplitSettled sets Part, Parts and Digest, and JoinSettled clears them. FirstRungs, CountsEnd
	// and Tallies are in part 0.
	Part, Parts uint32
	Digest      [32]byte

	FirstRungs []units.Precision // by metric index
	CountsEnd  []int64           // offset after the turn's counts, by release shard
	Tallies    []MetricTally     // records of the turn by metric and outcome
	Keys       []SettledKey
}

// SettledKey is one released cell with its final precision.
type SettledKey struct {
	Metric                 uint32
	WindowStart, WindowEnd int64 // Unix milliseconds
	Key                    []byte
	Precision              units.Precision
}

func (*Settled) controlKind() Kind { return KindSettled }

func (s *Settled) layout(w *wire) {
	s.fields(w)
	w.check(s.Part < s.Parts, "part number: not below the number of parts, or the record was not split")
}

func (s *Settled) fields(w *wire) {
	w.fields("epoch", &s.Epoch, "turn", &s.Turn, "part", &s.Part, "parts", &s.Parts, "digest", s.Digest[:])
	list(w, &s.FirstRungs, 1, "first rungs", func(p *units.Precision, w *wire) { w.precision(p, "first rung") })
	w.ints(&s.CountsEnd, "ends of counts")
	w.metricTallies(&s.Tallies)
	w.settledKeys(&s.Keys)
}

// windows encodes each window of a list as the difference from the previous window in the list, and
// decodes it. A turn has few windows and many keys, so a SettledKey takes three bytes besides its
// key and its precision. Differences that wrap around are decoded correctly.
type windows struct{ start, length int64 }

func (previous *windows) layout(from, to *int64, w *wire) {
	start, length := *from-previous.start, *to-*from-previous.length
	w.int(&start, "window start")
	w.int(&length, "window length")
	previous.start, previous.length = previous.start+start, previous.length+length
	if w.reading {
		*from, *to = previous.start, previous.start+previous.length
	}
}

func (w *wire) settledKeys(keys *[]SettledKey) {
	var previous windows
	list(w, keys, 5, "settled keys", func(k *SettledKey, w *wire) { k.layout(&previous, w) })
}

func (k *SettledKey) layout(previous *windows, w *wire) {
	w.uint32(&k.Metric, "metric")
	previous.layout(&k.WindowStart, &k.WindowEnd, w)
	w.bytes(&k.Key, maxCellKeyBytes, "key")
	w.precision(&k.Precision, "precision")
}

// settledDigest returns the SHA-256 of all but Part, Parts and Digest. Errors: ErrInvalid.
func settledDigest(s Settled) ([32]byte, error) {
	s.Part, s.Parts, s.Digest = 0, 0, [32]byte{}
	all, err := encode(KindSettled, &s, (*Settled).fields)
	return sha256.Sum256(all), err
}

// settledOverhead is the maximum length of a part without FirstRungs, CountsEnd, Tallies and Keys:
// the preamble, numbers of at most ten bytes, part numbers of at most five, and the digest.
const settledOverhead = 4 + 4*10 + 2*5 + 4*10 + 32

// SplitSettled splits a settled turn into parts whose encodings have at most maxBytes bytes each,
// whatever Back and BackEpoch are. They share memory with s. Errors: ErrTooLarge, ErrInvalid.
func SplitSettled(s Settled, maxBytes int) ([]Settled, error) {
	digest, err := settledDigest(s)
	if err != nil {
		return nil, err
	}
	head := s
	head.Keys = nil
	fixed := settledOverhead + 17*len(s.FirstRungs) + 10*len(s.CountsEnd) + 45*len(s.Tallies)
	used := fixed
	var parts []Settled
	scratch := new(wire)
	first := 0
	var before windows
	for i := range s.Keys {
		scratch.out = scratch.out[:0]
		s.Keys[i].layout(&before, scratch)
		if used+len(scratch.out) > maxBytes && (i > first || len(parts) == 0) {
			head.Keys = s.Keys[first:i]
			parts = append(parts, head)
			head = Settled{Epoch: s.Epoch, Turn: s.Turn}
			first, used, before = i, settledOverhead, windows{}
			scratch.out = scratch.out[:0]
			s.Keys[i].layout(&before, scratch)
		}
		used += len(scratch.out)
		if used > maxBytes {
			return nil, fmt.Errorf("splitting settled turn at %d bytes: %w", maxBytes, ErrTooLarge)
		}
	}
	head.Keys = s.Keys[first:]
	parts = append(parts, head)
	if fixed > maxBytes {
		return nil, fmt.Errorf("splitting settled turn at %d bytes: %w", maxBytes, ErrTooLarge)
	}
	for i := range parts {
		parts[i].Part, parts[i].Parts, parts[i].Digest = uint32(i), uint32(len(parts)), digest
	}
	return parts, nil
}

// JoinSettled joins the parts of one settled turn. The parts may be in any order and repeated.
// Errors: ErrIncomplete if a part is missing, ErrMalformed if the parts belong to different records
// or the digest differs.
func JoinSettled(parts []Settled) (Settled, error) {
	if len(parts) == 0 {
		return Settled{}, fmt.Errorf("joining settled turn: %w: no parts", ErrIncomplete)
	}
	id := parts[0]
	byPart := make(map[uint32]*Settled, len(parts))
	keys := 0
	for i := range parts {
		p := &parts[i]
		if p.Epoch != id.Epoch || p.Turn != id.Turn || p.Parts != id.Parts || p.Digest != id.Digest {
			return Settled{}, malformed(KindSettled, "parts of different records")
		}
		if p.Part >= p.Parts {
			return Settled{}, malformed(KindSettled, "part number: not below the number of parts")
		}
		if byPart[p.Part] == nil {
			keys += len(p.Keys)
		}
		byPart[p.Part] = p
	}
	if len(byPart) != int(id.Parts) {
		return Settled{}, fmt.Errorf("joining settled turn: %w: %d of %d parts", ErrIncomplete, len(byPart), id.Parts)
	}
	out := *byPart[0]
	out.Part, out.Parts, out.Digest = 0, 0, [32]byte{}
	out.Keys = make([]SettledKey, 0, keys)
	for i := range id.Parts {
		out.Keys = append(out.Keys, byPart[i].Keys...)
	}
	if digest, err := settledDigest(out); err != nil || digest != id.Digest {
		return Settled{}, malformed(KindSettled, "the contents do not match the record's digest")
	}
	return out, nil
}
