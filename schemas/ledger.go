package schemas

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"

	"github.com/tollgate-dp/tollgate/state/accounts"
)

// LedgerRecord is a Kafka record in a ledger partition. A nil value is a tombstone.
type LedgerRecord = accounts.LedgerRecord

// LedgerKey is the decoded Kafka key of a ledger record. Kind is KindDeltaPart or KindSnapshotPart.
type LedgerKey struct {
	Kind Kind
	Slot uint64
	Part uint32
}

const (
	deltaPrefix    = "delta/"
	snapshotPrefix = "snapshot/"
)

// Bytes returns the encoded Kafka key.
func (k LedgerKey) Bytes() []byte {
	prefix := deltaPrefix
	if k.Kind == KindSnapshotPart {
		prefix = snapshotPrefix
	}
	b := []byte(prefix)
	b = strconv.AppendUint(b, k.Slot, 10)
	b = append(b, '/')
	return strconv.AppendUint(b, uint64(k.Part), 10)
}

// DecodeLedgerKey is the inverse of LedgerKey.Bytes. Errors: ErrMalformed.
func DecodeLedgerKey(key []byte) (LedgerKey, error) {
	k := LedgerKey{}
	var rest []byte
	switch {
	case bytes.HasPrefix(key, []byte(deltaPrefix)):
		k.Kind, rest = KindDeltaPart, key[len(deltaPrefix):]
	case bytes.HasPrefix(key, []byte(snapshotPrefix)):
		k.Kind, rest = KindSnapshotPart, key[len(snapshotPrefix):]
	default:
		return LedgerKey{}, malformed(KindLedgerKey, "does not begin like a delta's or a snapshot's key")
	}
	slot, part, ok := bytes.Cut(rest, []byte{'/'})
	if !ok || len(slot) > 20 || len(part) > 10 {
		return LedgerKey{}, malformed(KindLedgerKey, "does not end with slot and part")
	}
	s, err := strconv.ParseUint(string(slot), 10, 64)
	p, err2 := strconv.ParseUint(string(part), 10, 32)
	k.Slot, k.Part = s, uint32(p)
	if err != nil || err2 != nil || !bytes.Equal(k.Bytes(), key) {
		return LedgerKey{}, malformed(KindLedgerKey, "does not end with slot and part")
	}
	if k.Kind == KindSnapshotPart && s > 1 {
		return LedgerKey{}, malformed(KindLedgerKey, "the slot of a snapshot is not 0 or 1")
	}
	return k, nil
}

// LedgerPart is a decoded ledger record. For a tombstone only Key and Tombstone are set.
type LedgerPart struct {
	Key       LedgerKey
	Tombstone bool
	Set       PartSet
	Chunk     []byte // part Key.Part of the body
	place     string // LedgerRecord.Place
}

// PartSet identifies the record to which a part belongs. Only parts of one PartSet are joined.
type PartSet struct {
	Turn   uint64
	Epoch  int64
	Parts  uint32
	Digest [32]byte // SHA-256 of the body, which holds everything except the epoch
}

// DecodeLedgerPart decodes one ledger record. Errors: ErrMalformed, ErrVersion.
func DecodeLedgerPart(key, value []byte) (LedgerPart, error) {
	if err := unknownKind(value); err != nil {
		return LedgerPart{}, err
	}
	k, err := DecodeLedgerKey(key)
	if err != nil {
		return LedgerPart{}, err
	}
	p := LedgerPart{Key: k}
	if value == nil {
		p.Tombstone = true
		return p, nil
	}
	r := newReader(value, k.Kind)
	if p.layout(r); r.err != nil {
		return LedgerPart{}, r.err
	}
	return p, nil
}

func (p *LedgerPart) layout(w *wire) {
	part, s := p.Key.Part, &p.Set
	w.fields("turn", &s.Turn, "epoch", &s.Epoch, "part", &part, "parts", &s.Parts, "digest", s.Digest[:])
	if w.reading {
		p.Chunk = w.next(len(w.rest), "chunk")
	} else {
		w.out = append(w.out, p.Chunk...)
	}
	w.check(part == p.Key.Part && part < p.Set.Parts,
		"part number: differs from the key's, or is not below the number of parts")
	w.check(len(p.Chunk) > 0, "empty part")
}

// partOverhead is the maximum size in bytes of a part's key and fields, without the chunk.
const partOverhead = preambleBytes + 10 + 10 + 5 + 5 + 32 + len(snapshotPrefix) + 20 + 1 + 10

// splitBody splits a body into records, each with at most maxBytes bytes of key and value together.
func splitBody(kind Kind, slot, turn uint64, epoch int64, body []byte, maxBytes int) ([]LedgerRecord, error) {
	chunk := maxBytes - partOverhead
	if chunk < 1 {
		return nil, fmt.Errorf("splitting %s at %d bytes, but at least %d are needed: %w", kind, maxBytes,
			partOverhead+1, ErrTooLarge)
	}
	set := PartSet{Turn: turn, Epoch: epoch, Parts: uint32((len(body) + chunk - 1) / chunk),
		Digest: sha256.Sum256(body)}
	out := make([]LedgerRecord, 0, set.Parts)
	for piece := range slices.Chunk(body, chunk) {
		p := LedgerPart{Key: LedgerKey{Kind: kind, Slot: slot, Part: uint32(len(out))}, Set: set, Chunk: piece}
		w := newWriter(make([]byte, 0, partOverhead+len(piece)), kind)
		p.layout(w)
		out = append(out, LedgerRecord{Key: p.Key.Bytes(), Value: w.out})
	}
	return out, nil
}

// joinBody is the inverse of splitBody. The parts must be in order, without gaps or repetitions.
func joinBody(kind Kind, parts []LedgerPart) ([]byte, PartSet, error) {
	if len(parts) == 0 {
		return nil, PartSet{}, fmt.Errorf("joining %s: %w: no parts", kind, ErrIncomplete)
	}
	set := parts[0].Set
	if len(parts) != int(set.Parts) {
		return nil, PartSet{}, fmt.Errorf("joining %s: %w: %d of %d parts", kind, ErrIncomplete, len(parts), set.Parts)
	}
	size := 0
	for i, p := range parts {
		switch {
		case p.Key.Kind != kind || p.Set != set:
			return nil, PartSet{}, malformed(kind, "parts of different records")
		case p.Key.Part != uint32(i):
			return nil, PartSet{}, fmt.Errorf("joining %s: %w: part %d", kind, ErrIncomplete, i)
		}
		size += len(p.Chunk)
	}
	body := parts[0].Chunk
	if len(parts) > 1 {
		body = make([]byte, 0, size)
		for _, p := range parts {
			body = append(body, p.Chunk...)
		}
	}
	if sha256.Sum256(body) != set.Digest {
		return nil, PartSet{}, malformed(kind, "the contents do not match the record's digest")
	}
	return body, set, nil
}

// joinRecord decodes a record from its parts, in ascending order, and returns the record and the
// PartSet of its parts. The function turn returns the turn in the record's body.
func joinRecord[T any](part, body Kind, parts []LedgerPart, layout func(*T, *wire),
	turn func(*T) uint64) (T, PartSet, error) {
	var none T
	joined, set, err := joinBody(part, parts)
	if err != nil {
		return none, PartSet{}, err
	}
	v, err := decode(joined, body, layout)
	if err != nil {
		return none, PartSet{}, fmt.Errorf("joining %s of turn %d: %w", body, set.Turn, err)
	}
	if turn(&v) != set.Turn {
		return none, PartSet{}, malformed(part, "its turn differs from that of the "+body.String())
	}
	return v, set, nil
}
