package terminal

import (
	"bytes"
	"testing"
	"time"
)

// What is left is told by what turns of the last minute took: turns with events take ten times as
// long as those without, and either may come first.
func TestWhatIsLeftFollowsFromWhatIsMeasured(t *testing.T) {
	const empty, full = 15 * time.Millisecond, 150 * time.Millisecond
	for name, kinds := range map[string][2]time.Duration{
		"empty": {empty, empty}, "with events": {full, full}, "empty, then with events": {empty, full},
		"with events, then empty": {full, empty},
	} {
		now := time.Unix(0, 0)
		p := NewProgress(&bytes.Buffer{}, false, func() time.Time { return now })
		const turns = 20_000
		p.Expect(turns)
		now = now.Add(time.Hour) // loading, which is no measure of turns
		for turn := 1; turn <= turns; turn++ {
			kind := kinds[0]
			if turn > turns/2 {
				kind = kinds[1]
			}
			now = now.Add(kind)
			p.Settled(turn, 0)
			rest, told := p.left()
			exact := time.Duration(turns-turn) * kind
			if since := turn - turns/2; since > 0 && time.Duration(since)*kind < time.Minute {
				continue // the pace of the turns before is being forgotten
			}
			if told && (rest > 2*exact || rest < exact/2) {
				t.Fatalf("%s: %v left after %d turns, told %v", name, exact, turn, rest)
			}
			if !told && exact > 15*time.Second && time.Duration(turn)*kind > 6*time.Second {
				t.Fatalf("%s: nothing told after %d turns", name, turn)
			}
		}
		if _, told := p.left(); told {
			t.Errorf("%s: something is left at the end", name)
		}
	}
}

func TestEstimatesAreRough(t *testing.T) {
	for d, want := range map[time.Duration]string{
		40*time.Second + 1: "41 s", 18*time.Minute + 20*time.Second: "18 min", 3 * time.Hour: "3 h",
		300 * time.Hour: "12 days", 1e9 * time.Second: "11,574 days",
	} {
		if got := Roughly(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}
