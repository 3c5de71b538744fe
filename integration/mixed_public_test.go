package integration

import (
	"encoding/base64"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/await"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// The log of a run is for operators, who are on the other side of the wall: it names no user, by
// name or by account, no key, and no count of records, neither of all of them nor of a turn's, of
// which every one has hundreds here.
func TestRuleLogsNameNoUser(t *testing.T) {
	d := newMixed(t, startBroker(t), "logs", 2)
	var arrivals []arrival
	for i := range 3001 {
		a := at("nobodys-name", "nobodys-page", time.Duration(i)*20*time.Millisecond)
		if i%10 < 8 {
			stamp := a.stamp
			a = bought(fmt.Sprintf("nobodys-name-%d", i%70), fmt.Sprintf("nobodys-page-%d", i%3), stamp, stamp,
				int64(i%9), "nobodys-toy")
		}
		arrivals = append(arrivals, a)
	}
	d.load(scatter(arrivals, 2, 1))
	var log await.Buffer
	d.run(func(o *runOptions) {
		o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	d.verify()
	secret := []string{"nobodys", `\d{3}`} // turns and epochs are small numbers here
	for owner := range d.reference().accounts {
		secret = append(secret, fmt.Sprintf("(?i)%x", owner.ID[:]),
			regexp.QuoteMeta(base64.StdEncoding.EncodeToString(owner.ID[:])))
	}
	told := regexp.MustCompile(`time=\S+|127\.0\.0\.1:\d+`).ReplaceAllString(log.String(), "")
	for _, s := range secret {
		if at := regexp.MustCompile(s).FindStringIndex(told); at != nil {
			t.Errorf("the log contains %q: %q", s, told[max(0, at[0]-200):min(len(told), at[1]+100)])
		}
	}
	if len(log.String()) == 0 {
		t.Error("nothing was logged: the case says nothing")
	}
}

// Equal records are different events, of one user as of several.
func TestRuleNothingIsDeduplicated(t *testing.T) {
	d := newDeployment(t, startBroker(t), "mixed-copies", 3, func(c *pipeline.Config) {
		c.Events.Format.Value = "amount"
		c.Metrics = []pipeline.Metric{countOf("visits", 10*time.Second), sumOf("balance", 10*time.Second),
			usersOf("people", 10*time.Second)}
	})
	stamp := base.UnixMilli() + 1
	var arrivals []arrival
	for i := range 6 {
		arrivals = append(arrivals, bought(numbered("u", i/2), "p00", stamp, stamp, 7, "book"))
	}
	d.load([][]arrival{arrivals[:3], arrivals[3:5], arrivals[5:]})
	d.run(func(o *runOptions) { o.Until = base.Add(10 * time.Second) })
	d.verify()
	var counts []int64
	for _, turn := range d.reference().turns {
		for _, draw := range turn.Draws {
			if draw.Key == "p00" {
				counts = append(counts, draw.Count)
			}
		}
	}
	if !slices.Equal(counts, []int64{6, 42, 3}) {
		t.Errorf("counts are %v, want 6 events, their sum and 3 users", counts)
	}
}
