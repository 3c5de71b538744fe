package schemas

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/budgets"
)

// The account id is HMAC-SHA-256 cut to 128 bits. It must never change, because the ledger keeps
// accounts under it.
func TestAccountIDsAreWhatTheyWere(t *testing.T) {
	h := NewHasher([32]byte{1, 2, 3})
	id := h.Account([]byte("alice"))
	mac := hmac.New(sha256.New, append([]byte{1, 2, 3}, make([]byte, 29)...))
	mac.Write([]byte("\x01alice"))
	if want := mac.Sum(nil)[:16]; !bytes.Equal(id[:], want) {
		t.Errorf("%x, want %x", id, want)
	}
	if got, want := hex.EncodeToString(id[:]), "ef5a02e131fed57af8b681aba4c80d8f"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if h.Clone().Account([]byte("alice")) != id || NewHasher([32]byte{}).Account([]byte("alice")) == id {
		t.Error("the id does not depend on the key and the user alone")
	}
}

// A record without a user has the account of its position, cut from HMAC-SHA-256: it never changes,
// and no user id and no other position has it.
func TestRuleNoUserHasTheAccountOfAPosition(t *testing.T) {
	h := NewHasher([32]byte{1, 2, 3})
	const partition, offset = 7, 1 << 40
	where := []byte{0, 0, 0, 7, 0, 0, 1, 0, 0, 0, 0, 0}
	id := h.Unnamed(partition, offset)
	mac := hmac.New(sha256.New, append([]byte{1, 2, 3}, make([]byte, 29)...))
	mac.Write(append([]byte{6}, where...))
	if want := mac.Sum(nil)[:16]; !bytes.Equal(id[:], want) {
		t.Errorf("%x, want %x", id, want)
	}
	for name, other := range map[string]accounts.ID{
		"of the user with these bytes": h.Account(where),
		"of the user with the domain":  h.Account(append([]byte{6}, where...)),
		"of another partition":         h.Unnamed(partition+1, offset), "of another offset": h.Unnamed(partition,
			offset+1),
		"of another key": NewHasher([32]byte{1}).Unnamed(partition, offset),
	} {
		if other == id {
			t.Errorf("the account %s is the same", name)
		}
	}
}

// Uses of the key never meet, and different arguments never give one input.
func TestHashesAreSeparated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := gen32(t)
		h := NewHasher(secret)
		type rank struct {
			metric string
			id     accounts.ID
			period int64
			key    string
		}
		hashed := func(r rank) [16]byte { return h.ClipRank(r.metric, r.id, r.period, []byte(r.key)) }
		recordRank := func(r rank) [16]byte {
			var record RecordID
			copy(record[:], r.key)
			return h.RecordRank(r.metric, r.id, r.period, record)
		}
		a := rank{rapid.StringN(0, 3, 8).Draw(t, "metric"), genID.Draw(t, "id"), genPeriod.Draw(t, "period"),
			string(genKey.Draw(t, "key"))}
		for name, b := range map[string]rank{
			"metric": {a.metric + "x", a.id, a.period, a.key}, "account": {a.metric, accounts.ID{a.id[0] + 1}, a.period,
				a.key},
			"period": {a.metric, a.id, a.period ^ 1, a.key}, "key": {a.metric, a.id, a.period, "x" + a.key},
		} {
			if hashed(a) == hashed(b) || recordRank(a) == recordRank(b) {
				t.Fatalf("a rank does not depend on the %s", name)
			}
		}
		same := a
		if hashed(a) != hashed(same) || recordRank(a) != recordRank(same) {
			t.Fatal("a rank depends on more than its input")
		}
		if a.key != "" {
			// The same bytes one after the other, with the border after the metric moved by one.
			rest := binary.BigEndian.AppendUint64(a.id[:], uint64(a.period))
			rest = append(rest, a.key...)
			moved := rank{metric: a.metric + string(rest[:1]), period: int64(binary.BigEndian.Uint64(rest[17:])),
				key: string(rest[25:])}
			copy(moved.id[:], rest[1:])
			if hashed(a) == hashed(moved) {
				t.Fatal("the border after the metric is lost")
			}
		}
		// The same bytes are another thing in every domain.
		record := RecordID{1, 2, 3}
		bytes := binary.BigEndian.AppendUint64(append(appendString(nil, a.metric), a.id[:]...), uint64(a.period))
		bytes = append(bytes, record[:]...)
		fingerprint := KeyFingerprintOf(string(bytes), secret)
		labelled := appendString(nil, string(bytes))
		seen := map[[16]byte]string{}
		for name, hash := range map[string][16]byte{
			"an account id": h.Account(bytes), "a record's id": h.Record(bytes), "a key's rank": h.ClipRank(a.metric,
				a.id, a.period, record[:]),
			"a record's rank":             h.RecordRank(a.metric, a.id, a.period, record),
			"a fingerprint":               [16]byte(fingerprint[:16]),
			"an account id with a length": h.Account(labelled), "a record's id with a length": h.Record(labelled),
		} {
			if other, taken := seen[hash]; taken {
				t.Fatalf("%s is %s", name, other)
			}
			seen[hash] = name
		}
	})
}

func TestShardsAreUniformAndInRange(t *testing.T) {
	h := NewHasher([32]byte{7})
	const n, shards = 64000, 64
	var users, keys [shards]float64
	for i := range n {
		key := []byte{byte(i), byte(i >> 8), byte(i >> 16)}
		users[ShardOf(h.Account(key), shards)]++
		keys[ReleaseShardOf("views", 0, 60000, key, shards)]++
	}
	// Chi-square with 63 degrees of freedom: 126 is exceeded with probability 4e-6 by a uniform
	// hash; the inputs are fixed, so the test never flickers.
	for name, counts := range map[string][shards]float64{"users": users, "keys": keys} {
		chi := 0.0
		for _, c := range counts {
			chi += (c - n/shards) * (c - n/shards) / (n / shards)
		}
		if chi > 126 {
			t.Errorf("%s: chi-square %.0f", name, chi)
		}
	}
	for _, shards := range []int{-1, 0, 1} {
		if ShardOf(accounts.ID{8: 0xff}, shards) != 0 || ReleaseShardOf("m", 1, 2, []byte("k"), shards) != 0 {
			t.Error("one shard is not shard 0")
		}
	}
	for _, other := range []int{ReleaseShardOf("b", 0, 1, nil, 1<<30), ReleaseShardOf("a", 1, 1, nil, 1<<30),
		ReleaseShardOf("a", 0, 2, nil, 1<<30), ReleaseShardOf("a", 0, 1, []byte{0}, 1<<30)} {
		if other == ReleaseShardOf("a", 0, 1, nil, 1<<30) {
			t.Error("an argument does not enter the release shard")
		}
	}
}

func TestFingerprintsTellKeysAndLabelsApart(t *testing.T) {
	a := KeyFingerprintOf("noise k1", [32]byte{1})
	if a == KeyFingerprintOf("noise k2", [32]byte{1}) || a == KeyFingerprintOf("noise k1", [32]byte{2}) {
		t.Error("fingerprints of different keys are equal")
	}
}

func TestLimitsOfUsersAndKeys(t *testing.T) {
	for _, c := range []struct {
		user string
		want error
	}{{"u", nil}, {"", ErrEmptyUser}, {strings.Repeat("u", 1024), nil}, {strings.Repeat("u", 1025), ErrUserTooLong},
		{"\xff", nil}} {
		if err := ValidateUser([]byte(c.user)); !errors.Is(err, c.want) {
			t.Errorf("user of %d bytes: %v", len(c.user), err)
		}
	}
	for _, c := range []struct {
		key  string
		want error
	}{{"", nil}, {strings.Repeat("k", 512), nil}, {strings.Repeat("k", 513), ErrKeyTooLong}, {"\xff", ErrKeyNotUTF8}} {
		if err := ValidateKey([]byte(c.key)); !errors.Is(err, c.want) {
			t.Errorf("key of %d bytes: %v", len(c.key), err)
		}
	}
}

// Every field of a metric enters its digest.
func TestEveryFieldOfAMetricEntersItsDigest(t *testing.T) {
	base := MetricSpec{Name: "m", PublicKeys: [][]byte{[]byte("ab"), []byte("c")}}
	seen := map[[32]byte]string{base.Digest(): "nothing"}
	for name, change := range map[string]func(*MetricSpec){
		"name": func(m *MetricSpec) { m.Name = "n" }, "kind": func(m *MetricSpec) { m.Kind = "x" },
		"filter": func(m *MetricSpec) { m.Filter = "x" }, "size": func(m *MetricSpec) { m.WindowSize = 1 },
		"slide": func(m *MetricSpec) { m.WindowSlide = 1 }, "lateness": func(m *MetricSpec) { m.Lateness = 1 },
		"skew": func(m *MetricSpec) { m.Skew = 1 }, "slack": func(m *MetricSpec) { m.Slack = 1 },
		"K": func(m *MetricSpec) { m.MaxKeysPerUser = 1 }, "C": func(m *MetricSpec) { m.MaxEventsPerKey = 1 },
		"ladder": func(m *MetricSpec) { m.LadderKind = "x" }, "factor": func(m *MetricSpec) { m.LadderFactor = 1 },
		"first": func(m *MetricSpec) { m.First.Lo = 1 }, "top": func(m *MetricSpec) { m.Top.Lo = 1 },
		"relative": func(m *MetricSpec) { m.Relative = 1 }, "absolute": func(m *MetricSpec) { m.Absolute = 1 },
		"confidence": func(m *MetricSpec) { m.Confidence = 1 }, "key mode": func(m *MetricSpec) { m.KeyMode = "x" },
		"keys":       func(m *MetricSpec) { m.PublicKeys = [][]byte{[]byte("a"), []byte("bc")} },
		"fewer keys": func(m *MetricSpec) { m.PublicKeys = m.PublicKeys[:1] },
		"delta":      func(m *MetricSpec) { m.DeltaKey.Lo = 1 },
		"of":         func(m *MetricSpec) { m.Of = "x" }, "min": func(m *MetricSpec) { m.Min = 1 },
		"max": func(m *MetricSpec) { m.Max = 1 }, "keys from": func(m *MetricSpec) { m.KeysFrom = "x" },
		"period":       func(m *MetricSpec) { m.Period = "x" },
		"kind, shared": func(m *MetricSpec) { m.Name, m.Kind = "", "m" },
	} {
		m := base
		change(&m)
		if other, taken := seen[m.Digest()]; taken {
			t.Errorf("changing %s gives the digest of changing %s", name, other)
		}
		seen[m.Digest()] = name
	}
}

func TestValuesWithoutAnEncodingAreRefused(t *testing.T) {
	long, longCell := make([]byte, MaxKeyBytes+1), make([]byte, maxCellKeyBytes+1)
	text := strings.Repeat("x", maxTextBytes+1)
	for name, body := range map[string]ControlBody{
		"no body": nil, "stop": &Stop{Reason: text}, "recover": &Recover{By: text},
		"name":    &Header{Events: EventIdentity{User: text}},
		"epsilon": &Header{Budget: budgets.Budget{Epsilon: math.NaN()}},
		"metric":  &Header{Metrics: []MetricSpec{{Name: text}}},
		"factor":  &Header{Metrics: []MetricSpec{{LadderFactor: math.Inf(1)}}},
		"keys":    &Header{Metrics: []MetricSpec{{PublicKeys: [][]byte{{2}, {1}}}}},
		"cuts":    &Close{Cuts: []Cut{{Partition: 1}, {Partition: 1}}},
		"class":   &Close{Tallies: ReadTallies{DeadLettered: map[string]uint64{text: 1}}},
		"settled": &Settled{Parts: 1, Keys: []SettledKey{{Key: longCell}}},
	} {
		if _, err := EncodeControl(Control{Body: body}); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := EncodePartial(Partial{Cells: []Cell{{Key: longCell}}}); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
	if _, err := EncodeAck(Ack{Keys: []SettledKey{{Key: longCell}}}); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
	if _, err := EncodeContributions(Contributions{Labels: []Label{{Key: long}}}); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
	if _, err := EncodeContributions(Contributions{Users: []ContribUser{{Entries: []KeyCount{{}}}}}); !errors.Is(err,
		ErrInvalid) {
		t.Error(err)
	}
}

func TestTalliesAddUp(t *testing.T) {
	var sum ReadTallies
	sum.Add(ReadTallies{Read: 10, BeforeStart: 1, Late: 2, Future: 1, Overtaken: 1, Accepted: 3,
		DeadLettered: map[string]uint64{"a": 2}})
	sum.Add(ReadTallies{Read: 3, Accepted: 1, DeadLettered: map[string]uint64{"a": 1, "b": 1}})
	if diff := cmp.Diff(ReadTallies{Read: 13, BeforeStart: 1, Late: 2, Future: 1, Overtaken: 1, Accepted: 4,
		DeadLettered: map[string]uint64{"a": 3, "b": 1}}, sum); diff != "" {
		t.Error(diff)
	}
}

// A record's id and its ranks are functions of the key, the user, the metric and the bytes, and of
// nothing else.
func TestRuleRecordsAreRankedByTheirOwnBytes(t *testing.T) {
	h, other := NewHasher([32]byte{1}), NewHasher([32]byte{2})
	id, record := accounts.ID{1}, h.Record([]byte("record"))
	if h.Record([]byte("record")) != record || h.Clone().Record([]byte("record")) != record ||
		other.Record([]byte("record")) == record || h.Record([]byte("recorD")) == record {
		t.Error("a record's id is not a function of its bytes and the key")
	}
	rank := h.RecordRank("m", id, 0, record)
	for name, r := range map[string][16]byte{
		"metric": h.RecordRank("n", id, 0, record), "user": h.RecordRank("m", accounts.ID{2}, 0, record),
		"period": h.RecordRank("m", id, 1, record), "record": h.RecordRank("m", id, 0, RecordID{}),
		"key":  other.RecordRank("m", id, 0, record),
		"kind": h.ClipRank("m", id, 0, record[:]),
	} {
		if r == rank {
			t.Errorf("another %s gives the same rank", name)
		}
	}
	if h.RecordRank("m", id, 0, record) != rank {
		t.Error("a rank changes")
	}
}
