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

// The log of a run names no user, by id or by account, no key, and no number of records, of the
// whole run or of a turn. Every turn here has hundreds of records.
func TestRuleLogsNameNoUser(t *testing.T) {
	d := newMixed(t, startBroker(t), "logs", 2)
	var arrivals []arrival
	for i := range 3001 {
		a := visit("nobodys-name", "nobodys-page", time.Duration(i)*20*time.Millisecond)
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
	secret := []string{"nobodys", `\d{3}`} // the numbers of turns and epochs are smaller
	for owner := range d.reference().accounts {
		secret = append(secret, fmt.Sprintf("(?i)%x", owner.ID[:]),
			regexp.QuoteMeta(base64.StdEncoding.EncodeToString(owner.ID[:])))
	}
	logged := regexp.MustCompile(`time=\S+|127\.0\.0\.1:\d+`).ReplaceAllString(log.String(), "")
	for _, s := range secret {
		if found := regexp.MustCompile(s).FindStringIndex(logged); found != nil {
			t.Errorf("the log contains %q: %q", s, logged[max(0, found[0]-200):min(len(logged), found[1]+100)])
		}
	}
	if len(log.String()) == 0 {
		t.Error("nothing was logged")
	}
}

// Equal records are different events, whether of one user or of several.
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
