package schemas

// Contributions is a batch of contributions to the slice of one turn by users of one shard. A user
// may appear in several batches, and several times in a batch.
type Contributions struct {
	Epoch   int64
	Turn    uint64
	Shard   uint32
	Records uint64  // accepted records in the batch
	Labels  []Label // dictionary, in any order
	Users   []ContribUser
}

// EncodeContributions encodes a batch. Errors: ErrInvalid (a key too long, an index beyond the
// dictionary).
func EncodeContributions(c Contributions) ([]byte, error) {
	w := newWriter(make([]byte, 0, 64+24*len(c.Users)+16*len(c.Labels)), KindContributions)
	c.layout(w, nil)
	return w.written()
}

// DecodeContributions is the inverse of EncodeContributions. Users and entries are stored in m and
// are valid until the next m.Reset. Errors: ErrMalformed, ErrVersion.
func DecodeContributions(m *UserMemory, b []byte) (Contributions, error) {
	return decode(b, KindContributions, func(c *Contributions, w *wire) { c.layout(w, m) })
}

func (c *Contributions) layout(w *wire, m *UserMemory) {
	w.turn(&c.Epoch, &c.Turn)
	w.fields("shard", &c.Shard, "records", &c.Records)
	w.labels(&c.Labels, false)
	w.users(&c.Users, m, len(c.Labels), false)
}
