package schemas

import (
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/units"
)

// goldenValue is value i of the golden file: fixed in this file, so that no library's generator
// decides it.
func goldenValue(c codec, i int) any {
	n := uint64(i)
	keys := [][]byte{[]byte(""), []byte("/"), []byte("/products/42")}
	labels := []Label{{Key: keys[0]}, {keys[1], 5}, {Key: keys[2]}}
	windows := []MetricWindow{{0, 1700000000000, 1700000060000}, {1, 1699999200000, 1700000060000}}
	u := units.Precision{Hi: n, Lo: 0x0123456789abcdef}
	tallies := []MetricTally{{0, WindowTally{0, 7, 300}}}
	settled := []SettledKey{{0, 1700000000000, 1700000060000, keys[1], u},
		{1, 1699999200000, 1700000060000, keys[2], u}}
	records := []RecordValue{{0, 1, -12, RecordID{1}}, {2, 300, 7, RecordID{9}}}
	users := []ContribUser{{accounts.ID{1, 2, 3}, 0, []KeyCount{{0, 1}, {2, 300}}, records},
		{ID: accounts.ID{1, 2, 3}, Period: 7},
		{accounts.ID{9}, -1, []KeyCount{{1, 1}}, nil}}
	slice := OpenSlice{Turn: 3 + n, Filtered: []uint64{n, 4}, Labels: labels, Users: users}
	open := Open{Epoch: 17, Turn: 5 + n, Contributions: 1000, Shard: 3, Shards: 16, SettledAt: 40 - int64(n),
		FromLedger: i == 1, Group: uint32(i), Groups: 3}
	batch := Contributions{Epoch: 17, Turn: 5 + n, Shard: 3, Records: 4, Labels: labels, Users: users}
	switch c.name {
	case "control":
		return Control{Back: 12, BackEpoch: -1, Body: goldenBody(i, u, keys, settled)}
	case "delta-body":
		d := Delta{Turn: 5 + n, Records: 4, Windows: windows, Tallies: []WindowTally{{0, 1, 3}, {4, 5, 7}},
			Filtered: []uint64{4, 9}, Labels: labels}
		for j, cu := range users {
			admitted := NewBits(2)
			for k := range j {
				admitted.Set(k)
			}
			d.Users = append(d.Users, DeltaUser{cu, admitted})
		}
		return d
	case "snapshot":
		open, _ := EncodeOpenSlice(slice)
		s := Snapshot{Turn: 4 + n, Open: [][]byte{open}, Forgotten: []ForgottenMark{{1}, {2, byte(n)}}}
		for _, cu := range users {
			s.Accounts = append(s.Accounts, accounts.Entry{ID: cu.ID, Period: cu.Period,
				Account: accounts.Account{Spent: 1000 + units.Mu2(n)}, Debts: []units.Mu2{0, 500 + units.Mu2(n)}})
		}
		return s
	case "open-slice":
		return slice
	case "contributions":
		return batch
	case "open":
		return open
	case "partial":
		return Partial{Epoch: 17, Turn: 5 + n, Shard: 3, Shards: 16, ReleaseShards: 1, Records: 4,
			Total:   1000,
			Tallies: tallies, Cells: []Cell{{0, 1700000000000, 1700000060000, keys[1], 301},
				{1, 1699999200000, 1700000060000, keys[2], -int64(n)}}}
	case "ack":
		return Ack{Epoch: 17, Turn: 5 + n, ReleaseShards: 1, CountsEnd: 77, Tallies: tallies, Keys: settled}
	case "release-avro":
		return encoded{goldenRelease(i, u), CountsEncoding{CountsAvro, 7}}
	case "release-json":
		return encoded{goldenRelease(i, u), CountsEncoding{Format: CountsJSON}}
	default:
		return ReleaseKey{Metric: "views", WindowStart: 1700000000000 + int64(n)/2, Key: "/products/é|"}
	}
}

func goldenRelease(i int, u units.Precision) Release {
	n := uint64(i)
	return Release{Turn: 5 + n, Generation: 1, Metric: "views", MetricDigest: [32]byte{1, 2},
		WindowStart: 1700000000000,
		WindowEnd:   1700000060500, Key: "/products/é\"<\n", Value: -1234567, StdDev: 10.5, Low: -1300.25, High: -1e-7,
		Precision: u, Confidence: 0.95, Met: i == 1, Rungs: 1 + uint32(n), NoiseKeyID: "k1"}
}

func goldenBody(i int, u units.Precision, keys [][]byte, settled []SettledKey) ControlBody {
	switch i {
	case 0:
		return &Header{Incarnation: [16]byte{1}, Generation: 1, NoiseKeys: []KeyFingerprint{{"k1", 0, [32]byte{2}}},
			UserHash: [32]byte{3}, Budget: budgets.Budget{Epsilon: 1, Delta: 1e-6, Accountant: budgets.GDP,
				Mu2:  61604497218,
				Keys: units.Delta{Lo: 99}}, Shards: 16, ReleaseShards: 1, LedgerSlots: 64, StartMillis: 1700000000000,
			Deployment: "tollgate", By: "Ada", Why: "ticket 1234", EventsTopic: "events", Trust: "broker",
			Events: EventIdentity{Records: "5 columns, at most 1048576 bytes", User: "column 1 of csv",
				Key:  "column 3 of csv",
				Time: `column 2 of csv in "ms"`, Value: "column 5 of csv", Filters: []string{`"a" in column 4 of csv`}},
			AcceptFuture: true, Topics: Topics{"counts", "control", "ledger", "dead", "turns"},
			Counts: CountsEncoding{CountsAvro, 7},
			Metrics: []MetricSpec{{Name: "views", Kind: "events", Filter: "a == 1", Of: "x", KeysFrom: "y", Min: -3,
				Max: 1000, Period: "24h0m0s", WindowSize: 60000, WindowSlide: 60000, Lateness: 1000,
				Skew: 2000, Slack: 5000, MaxKeysPerUser: 4, MaxEventsPerKey: 10, LadderKind: "adaptive",
				LadderFactor: 1.05,
				First:        u, Top: units.Precision{Hi: 5}, Relative: 0.05, Absolute: 10, Confidence: 0.95,
				KeyMode:    "public",
				PublicKeys: keys}},
			FromTurn: 9, SliceStart: 1700000600000,
			Past: []PastGeneration{
				{[]MetricIdentity{{"views", "events", "a == 1", "x", "public", "y", "column 3 of csv; column 2 of csv",
					60000, 60000}},
					1000, 2000, 5000, []Boundary{{0, 500}, {3, 17}}}},
			Before: []MetricAllowance{{"views", accounts.Allowance{Burst: 40, Refill: 60, Horizon: 86400000}}}}
	case 1:
		return &Close{Epoch: 17, Turn: 5, Contributions: 1000,
			Cuts: []Cut{{0, 500, 490, 1700000061000, 2, false, 3600000, []int64{491, 495}},
				{3, 0, 0, -1, -1, true, 0, nil}}, Tallies: ReadTallies{Read: 1010, Accepted: 1000, Late: 7,
				DeadLettered: map[string]uint64{"empty_user": 1, "bad_timestamp": 2}}}
	case 2:
		return &Settled{Epoch: 17, Turn: 5, Parts: 1, Digest: [32]byte{4}, FirstRungs: []units.Precision{u},
			CountsEnd: []int64{77}, Tallies: []MetricTally{{0, WindowTally{0, 7, 300}}}, Keys: settled}
	default:
		return goldenRunRecords()[i-3]
	}
}
