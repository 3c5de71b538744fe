package choice

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"github.com/tollgate-dp/tollgate/schemas/secret"
)

// Events stores users' events. Up to a limit, events stay in memory; beyond it, they go to
// temporary files. Events are added in any order and read user by user. Events must not be used
// concurrently, and must be closed.
type Events struct {
	key    [32]byte
	limit  int // maximum number of records in memory
	dir    string
	shards [shards]shard
	memory int               // number of records in memory
	hashes map[string]uint64 // cache
	text   []byte

	Count, Outside uint64 // events inside and outside the range
	First, Last    int64  // first and last time in the range, Unix milliseconds
	Dates          bool   // all times in the range are starts of days
	from, to       int64
}

const (
	shards       = 64
	defaultLimit = 2 << 20 // records; 64 MiB
	recordBytes  = 32
	mostHashes   = 1 << 16
)

// shard holds the events of users whose hashes have the same leading bits.
type shard struct {
	records []record
	sorted  bool
	file    *os.File
	spilled int
}

// record is an event with hashes of the user and the key. Among 10⁸ users, two have the same hash
// with probability 3e-4. They then count as one user, which weakens no guarantee.
type record struct {
	user, key     uint64
	millis, value int64
}

func (r record) compare(o record) int {
	return cmp.Or(cmp.Compare(r.user, o.user), cmp.Compare(r.millis, o.millis), cmp.Compare(r.key, o.key),
		cmp.Compare(r.value, o.value))
}

// NewEvents returns a store for the events in [from, to), in Unix milliseconds. If to is 0, there
// is no upper limit. The secret key determines the order of users. Temporary files are created in
// dir; an empty dir stands for os.TempDir().
func NewEvents(key [32]byte, from, to int64, dir string) *Events {
	return &Events{key: key, from: from, to: to, dir: cmp.Or(dir, os.TempDir()), limit: defaultLimit, Dates: true,
		hashes: map[string]uint64{}}
}

// Add adds an event. It does not keep the slices user and key.
func (e *Events) Add(user, key []byte, millis, value int64) error {
	if millis < e.from || e.to != 0 && millis >= e.to {
		e.Outside++
		return nil
	}
	if e.Count == 0 {
		e.First, e.Last = millis, millis
	}
	e.First, e.Last = min(e.First, millis), max(e.Last, millis)
	e.Dates = e.Dates && millis%day.Milliseconds() == 0
	e.Count++
	r := record{e.hash('u', user), e.hash('k', key), millis, value}
	s := &e.shards[r.user>>58]
	s.records, s.sorted = append(s.records, r), false
	if e.memory++; e.memory < e.limit {
		return nil
	}
	return e.spill()
}

func (e *Events) hash(domain byte, text []byte) uint64 {
	e.text = append(append(e.text[:0], domain), text...)
	hash, known := e.hashes[string(e.text)]
	if known {
		return hash
	}
	sum := secret.HMAC(e.key, "tollgate plan order", e.text)
	hash = binary.BigEndian.Uint64(sum[:])
	if len(e.hashes) == mostHashes {
		clear(e.hashes)
	}
	e.hashes[string(e.text)] = hash
	return hash
}

// spill moves all records in memory to files.
func (e *Events) spill() error {
	for i := range e.shards {
		if err := e.shards[i].spill(e.dir); err != nil {
			return fmt.Errorf("writing a temporary file in %s (set TMPDIR to a directory with enough space): %w", e.dir,
				err)
		}
	}
	e.memory = 0
	return nil
}

func (s *shard) spill(dir string) (err error) {
	if s.file == nil {
		if s.file, err = os.CreateTemp(dir, "tollgate-plan-*"); err != nil {
			return err
		}
		// Raw records must not survive a kill: an unlinked file disappears with the process.
		os.Remove(s.file.Name()) //nolint:errcheck // best effort, Close tries again
	}
	w := bufio.NewWriter(s.file)
	for _, r := range s.records {
		if err := binary.Write(w, binary.BigEndian, [4]uint64{r.user, r.key, uint64(r.millis), uint64(r.value)}); err !=
			nil {
			return err
		}
	}
	s.spilled += len(s.records)
	s.records = s.records[:0]
	return w.Flush()
}

// load returns the records of a shard ordered by user and time.
func (s *shard) load() ([]record, error) {
	all := s.records
	if s.file != nil {
		if _, err := s.file.Seek(0, io.SeekStart); err != nil {
			return nil, err
		}
		in := bufio.NewReader(s.file)
		all = append(make([]record, 0, s.spilled+len(s.records)), s.records...)
		var b [recordBytes]byte
		for range s.spilled {
			if _, err := io.ReadFull(in, b[:]); err != nil {
				return nil, err
			}
			all = append(all, record{binary.BigEndian.Uint64(b[:]), binary.BigEndian.Uint64(b[8:]),
				int64(binary.BigEndian.Uint64(b[16:])), int64(binary.BigEndian.Uint64(b[24:]))})
		}
	}
	if !s.sorted || s.file != nil {
		slices.SortFunc(all, record.compare)
		s.sorted = true
	}
	return all, nil
}

// each calls fn with the events of each user, in the order of the users' hashes, until fn returns
// false. part is the estimated share of the users that come before this one.
func (e *Events) each(fn func(events []record, part float64) (bool, error)) error {
	for i := range e.shards {
		all, err := e.shards[i].load()
		if err != nil {
			return fmt.Errorf("reading back a temporary file: %w", err)
		}
		for len(all) > 0 {
			n := 1
			for n < len(all) && all[n].user == all[0].user {
				n++
			}
			if more, err := fn(all[:n], math.Ldexp(float64(all[0].user), -64)); err != nil || !more {
				return err
			}
			all = all[n:]
		}
	}
	return nil
}

// Close removes the temporary files.
func (e *Events) Close() error {
	var errs []error
	for i := range e.shards {
		if file := e.shards[i].file; file != nil {
			errs = append(errs, file.Close())
			os.Remove(file.Name()) //nolint:errcheck // fails if spill could unlink the open file
		}
	}
	return errors.Join(errs...)
}
