package run

import (
	"strings"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// expect shows what the run waits for; not what it has settled since that was looked at.
func (o *runOutput) expect(p pipeline.Progress) {
	o.mu.Lock()
	first := o.published == 0 && (o.certain || o.first == 0)
	over := o.first > 0 && !p.WindowEnd.After(o.end)
	o.mu.Unlock()
	if !over {
		o.progress.Status(expecting(p, time.Now(), first, o.certain))
	}
}

// expecting says when the next counts can appear, and how far behind reading is. certain says that
// there are public keys: private ones may all lack users, so that a window gives no count.
func expecting(p pipeline.Progress, now time.Time, first, certain bool) string {
	what, when := "next ", ""
	if first {
		what = "first "
	}
	if what += "result"; !certain {
		what, when = strings.Replace(what, "result", "window", 1), " closes"
	}
	lag := ""
	if p.Lag >= lagFrom {
		lag = "reading " + p.Lag.Round(time.Second).String() + " behind the clock"
	}
	switch soon := now.Before(p.Earliest); {
	case p.Closed:
		return what + " is being released"
	case soon && lag != "":
		return what + when + " at " + command.Moment(p.Earliest, now) + ", " + lag
	case soon:
		return what + when + " at " + command.Moment(p.Earliest, now)
	case lag != "":
		return lag
	case now.Before(p.Latest):
		return what + when + " by " + command.Moment(p.Latest, now)
	}
	return what + " is due"
}

// lagFrom is how far reading may be behind the clock without a word: records are under way for a
// while.
const lagFrom = 5 * time.Second
