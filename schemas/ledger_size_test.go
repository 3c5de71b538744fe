package schemas

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tollgate-dp/tollgate/state/accounts"
)

// benchDelta is a turn of n active users with one key each out of 1,000 and two windows ending.
func benchDelta(n int) Delta {
	rng := rand.New(rand.NewPCG(1, 2)) // fixed seed: its size is compared with the documented one
	d := Delta{Turn: 12345, Epoch: 678, Records: uint64(n), Windows: make([]MetricWindow, 2), Tallies: make([]WindowTally, 2)}
	for i := range d.Windows {
		d.Windows[i] = MetricWindow{uint32(i), 1700000000000, 1700000060000}
	}
	keys := min(1000, n)
	for i := range keys {
		d.Labels = append(d.Labels, Label{Key: fmt.Appendf(nil, "/products/%04d", i)})
	}
	d.Users = make([]DeltaUser, n)
	for i := range d.Users {
		u := &d.Users[i]
		binary.BigEndian.PutUint64(u.ID[:], rng.Uint64())
		binary.BigEndian.PutUint64(u.ID[8:], rng.Uint64())
		u.Entries = []KeyCount{{uint32(rng.IntN(keys)), 1 + uint32(rng.IntN(10))}}
		u.Admitted = NewBits(2)
		u.Admitted.Set(0)
		if i%4 != 0 {
			u.Admitted.Set(1)
		}
	}
	slices.SortFunc(d.Users, func(a, b DeltaUser) int { return CompareUsers(&a.ContribUser, &b.ContribUser) })
	return d
}

func recordBytes(records []LedgerRecord) (n int) {
	for _, r := range records {
		n += len(r.Key) + len(r.Value)
	}
	return n
}

// The sizes that the ledger may have: 22 to 45 bytes per active user with one key.
func TestALedgerDeltaIsSmall(t *testing.T) {
	for _, n := range []int{100, 1000, 10000, 100000} {
		d := benchDelta(n)
		records, err := EncodeDelta(d, 64, 900000)
		if err != nil {
			t.Fatal(err)
		}
		perUser := float64(recordBytes(records)) / float64(n)
		t.Logf("%d users, %d keys: %.1f bytes a user, %d parts", n, len(d.Labels), perUser, len(records))
		if perUser > 45 {
			t.Errorf("%d users: %.1f bytes a user", n, perUser)
		}
	}
}

func benchSnapshot(n int) Snapshot {
	s := Snapshot{Turn: 5}
	for _, u := range benchDelta(n).Users {
		s.Accounts = append(s.Accounts, accounts.Entry{ID: u.ID, Account: accounts.Account{Spent: 61604497218}})
	}
	return s
}

func TestASnapshotIsSmall(t *testing.T) {
	n := 50000
	records, err := EncodeSnapshot(benchSnapshot(n), 0, 900000)
	if err != nil {
		t.Fatal(err)
	}
	perUser := float64(recordBytes(records)) / float64(n)
	t.Logf("%.1f bytes a user", perUser)
	if perUser > 40 {
		t.Errorf("%.1f bytes a user", perUser)
	}
}

func BenchmarkEncodeDelta(b *testing.B) {
	d := benchDelta(10000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := EncodeDelta(d, 64, 900000); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/10000, "ns/user")
}

func readLedger(b *testing.B, records []LedgerRecord) (l LedgerReader) {
	for _, r := range records {
		if err := l.Add(r); err != nil {
			b.Fatal(err)
		}
	}
	return l
}

func BenchmarkReadDelta(b *testing.B) {
	records, err := EncodeDelta(benchDelta(10000), 64, 900000)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		l := readLedger(b, records)
		if _, err := l.DeltasAfter(0); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/10000, "ns/user")
}

// BenchmarkReadMillionAccounts restores the snapshot of one shard of 10^6 accounts.
func BenchmarkReadMillionAccounts(b *testing.B) {
	records, err := EncodeSnapshot(benchSnapshot(1000000), 0, 900000)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		l := readLedger(b, records)
		s, ok, err := l.NewestSnapshot(5)
		if err != nil || !ok || len(s.Accounts) != 1000000 {
			b.Fatal(ok, err)
		}
	}
	b.ReportMetric(float64(recordBytes(records))/1e6, "B/user")
}
