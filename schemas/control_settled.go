package schemas

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/tollgate-dp/tollgate/state/units"
)

// Settled says what the turns First to Turn released: every cell with the precision at which it
// stopped, and by metric the precision that a key which is not listed has cost. Users are charged
// for what it says.
type Settled struct {
	Epoch       int64
	First, Turn uint64

	// Part of Parts and Digest are set by SplitSettled and cleared by JoinSettled. FirstRungs,
	// CountsEnd and Tallies stand in part 0.
	Part, Parts uint32
	Digest      [32]byte

	FirstRungs []units.Precision // by metric index
	CountsEnd  []int64           // by release shard: the offset after the turn's counts
	Tallies    []MetricTally     // what became of the turn's records, by metric
	Keys       []SettledKey
}

// SettledKey is one released cell and the precision at which it stopped.
type SettledKey struct {
	Metric                 uint32
	WindowStart, WindowEnd int64 // Unix milliseconds
	Key                    []byte
	Precision              units.Precision
}

func (*Settled) controlKind() Kind { return KindSettled }

func (s *Settled) check() string {
	if what := checkSpan(s.First, s.Turn); what != "" {
		return what
	}
	if s.Part >= s.Parts {
		return "part number: split the record first"
	}
	for i := range s.Keys {
		if len(s.Keys[i].Key) > MaxKeyBytes {
			return "key too long"
		}
	}
	return ""
}

func (s *Settled) appendBody(dst []byte) []byte {
	dst = binary.AppendVarint(dst, s.Epoch)
	dst = binary.AppendUvarint(dst, s.Turn)
	dst = binary.AppendUvarint(dst, uint64(s.Part))
	dst = binary.AppendUvarint(dst, uint64(s.Parts))
	dst = append(dst, s.Digest[:]...)
	dst = binary.AppendUvarint(dst, uint64(len(s.FirstRungs)))
	for _, p := range s.FirstRungs {
		dst = appendPrecision(dst, p)
	}
	dst = binary.AppendUvarint(dst, uint64(len(s.CountsEnd)))
	for _, o := range s.CountsEnd {
		dst = binary.AppendVarint(dst, o)
	}
	dst = appendMetricTallies(dst, s.Tallies)
	return appendSpan(appendSettledKeys(dst, s.Keys), s.First, s.Turn)
}

func (s *Settled) readBody(d *wireDecoder) {
	s.Epoch = d.varint("epoch")
	s.Turn = d.uvarint("turn")
	s.Part = d.uint32("part")
	s.Parts = d.uint32("parts")
	s.Digest = d.digest("digest")
	n := d.count("first rungs", 1)
	s.FirstRungs = make([]units.Precision, n)
	for i := range s.FirstRungs {
		s.FirstRungs[i] = d.precision("first rung")
	}
	n = d.count("ends of counts", 1)
	s.CountsEnd = make([]int64, n)
	for i := range s.CountsEnd {
		s.CountsEnd[i] = d.varint("end of counts")
	}
	s.Tallies = d.metricTallies()
	s.Keys = d.settledKeys()
	s.First = d.span(s.Turn)
	if d.err == nil && s.Part >= s.Parts {
		d.fail("part number: not below the number of parts")
	}
}

// appendSettledKeys writes each window as its difference from that of the key before: a turn has
// few windows and many keys, so that a key costs three bytes beside its text and its precision.
func appendSettledKeys(dst []byte, keys []SettledKey) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(keys)))
	var start, length int64
	for i := range keys {
		dst = appendSettledKey(dst, &keys[i], &start, &length)
	}
	return dst
}

func appendSettledKey(dst []byte, k *SettledKey, start, length *int64) []byte {
	dst = binary.AppendUvarint(dst, uint64(k.Metric))
	dst = appendWindow(dst, k.WindowStart, k.WindowEnd, start, length)
	dst = appendBytes(dst, k.Key)
	return appendPrecision(dst, k.Precision)
}

// appendWindow writes a window as its difference from the one before, whose start and length it
// updates. The differences may wrap around; reading wraps them back.
func appendWindow(dst []byte, from, to int64, start, length *int64) []byte {
	dst = binary.AppendVarint(dst, from-*start)
	dst = binary.AppendVarint(dst, to-from-*length)
	*start, *length = from, to-from
	return dst
}

func (d *wireDecoder) window(start, length *int64) (from, to int64) {
	*start += d.varint("window start")
	*length += d.varint("window length")
	return *start, *start + *length
}

func (d *wireDecoder) settledKeys() []SettledKey {
	n := d.count("settled keys", 5)
	keys := make([]SettledKey, n)
	var start, length int64
	for i := range keys {
		k := &keys[i]
		k.Metric = d.uint32("metric")
		k.WindowStart, k.WindowEnd = d.window(&start, &length)
		k.Key = d.bytes("key", MaxKeyBytes)
		k.Precision = d.precision("precision")
	}
	return keys
}

// settledDigest returns the SHA-256 of everything but Part, Parts and Digest.
func settledDigest(s Settled) [32]byte {
	s.Part, s.Parts, s.Digest = 0, 0, [32]byte{}
	return sha256.Sum256(s.appendBody(appendPreamble(nil, KindSettled)))
}

// settledOverhead is more than a part takes beside FirstRungs, CountsEnd and Keys: the preamble,
// six numbers of at most ten bytes, four counts, two part numbers, the digest, the span.
const settledOverhead = 4 + 4*10 + 2*5 + 4*10 + 32 + 1

// SplitSettled splits a settled turn into records whose EncodeControl is at most maxBytes long,
// whatever their Back and BackEpoch. They share memory with s. Errors: ErrTooLarge, ErrInvalid.
func SplitSettled(s Settled, maxBytes int) ([]Settled, error) {
	s.Part, s.Parts, s.Digest = 0, 1, [32]byte{}
	if what := s.check(); what != "" {
		return nil, invalid(KindSettled, what)
	}
	head := s
	head.Keys = nil
	digest := settledDigest(s)
	fixed := settledOverhead + 17*len(s.FirstRungs) + 10*len(s.CountsEnd) + 45*len(s.Tallies)
	used := fixed
	var parts []Settled
	var scratch []byte
	first := 0
	var start, length int64
	for i := range s.Keys {
		scratch = appendSettledKey(scratch[:0], &s.Keys[i], &start, &length)
		if used+len(scratch) > maxBytes && (i > first || len(parts) == 0) {
			head.Keys = s.Keys[first:i]
			parts = append(parts, head)
			head = Settled{Epoch: s.Epoch, First: s.First, Turn: s.Turn}
			first, used, start, length = i, settledOverhead, 0, 0
			scratch = appendSettledKey(scratch[:0], &s.Keys[i], &start, &length)
		}
		used += len(scratch)
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

// JoinSettled puts the parts of one settled turn together, given in any order; a part that is given
// twice counts once. Errors: ErrIncomplete if a part is missing, ErrMalformed if the parts are not
// of one record or the digest differs.
func JoinSettled(parts []Settled) (Settled, error) {
	if len(parts) == 0 {
		return Settled{}, fmt.Errorf("joining settled turn: %w: no parts", ErrIncomplete)
	}
	id := parts[0]
	byPart := make(map[uint32]*Settled, len(parts))
	keys := 0
	for i := range parts {
		p := &parts[i]
		if p.Epoch != id.Epoch || p.First != id.First || p.Turn != id.Turn || p.Parts != id.Parts || p.Digest != id.Digest {
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
	if settledDigest(out) != id.Digest {
		return Settled{}, malformed(KindSettled, "the contents do not have the record's digest")
	}
	return out, nil
}
