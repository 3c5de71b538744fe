package schemas

// Contributions is a batch of what users of one shard contributed to the slice of one turn. A user
// may be in several batches, and in one batch more than once.
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

// DecodeContributions is the inverse of EncodeContributions. Errors: ErrMalformed, ErrVersion.
func DecodeContributions(b []byte) (Contributions, error) {
	return DecodeContributionsIn(new(UserMemory), b)
}

// DecodeContributionsIn is DecodeContributions with the users and their entries in m: they are
// valid until its next Reset.
func DecodeContributionsIn(m *UserMemory, b []byte) (Contributions, error) {
	return decode(b, KindContributions, func(c *Contributions, w *wire) { c.layout(w, m) })
}

func (c *Contributions) layout(w *wire, m *UserMemory) {
	w.turn(&c.Epoch, &c.Turn)
	w.uint32(&c.Shard, "shard")
	w.uint(&c.Records, "records")
	w.labels(&c.Labels, false)
	w.users(&c.Users, m, len(c.Labels), false)
}
