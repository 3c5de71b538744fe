package schemas

// OpenSlice holds the contributions of a shard's users to the slice of one turn. It is kept until
// all windows that contain the slice are closed.
type OpenSlice struct {
	Turn     uint64
	Filtered []uint64      // by metric: records of the slice that its filter excludes
	Labels   []Label       // dictionary, strictly ascending
	Users    []ContribUser // strictly ascending by (ID, Period), entries and records strictly ascending
}

// EncodeOpenSlice encodes a slice. Errors: ErrInvalid (order, sizes).
func EncodeOpenSlice(o OpenSlice) ([]byte, error) {
	w := newWriter(make([]byte, 0, 64+24*len(o.Users)+16*len(o.Labels)), KindOpenSlice)
	o.layout(w)
	return w.written()
}

// DecodeOpenSlice is the inverse of EncodeOpenSlice. Errors: ErrMalformed, ErrVersion.
func DecodeOpenSlice(b []byte) (OpenSlice, error) {
	return decode(b, KindOpenSlice, (*OpenSlice).layout)
}

func (o *OpenSlice) layout(w *wire) {
	w.uint(&o.Turn, "slice turn")
	w.uints(&o.Filtered, "filtered")
	w.labels(&o.Labels, true)
	w.users(&o.Users, new(UserMemory), len(o.Labels), true)
}

// PeekOpenSlice reads the turn of an encoded slice. Errors: ErrMalformed, ErrVersion.
func PeekOpenSlice(b []byte) (turn uint64, err error) {
	r := newReader(b, KindOpenSlice)
	r.uint(&turn, "slice turn")
	return turn, r.err
}
