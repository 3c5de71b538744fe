package advice

import (
	"fmt"
	"math"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/internal/formats/spelling"
)

// nothing says that no setting is of use, and why; best is the one that comes closest. It returns
// "" where one is, or where a key is asked about and something comes out: Need has the answer then.
func (q *Question) nothing(sizes []SizeAdvice, best *Point) string {
	if best.Typical <= q.Useful || q.Key != "" && best.Shown >= 0.5 {
		return ""
	}
	windows := make([]string, len(sizes))
	for i := range sizes {
		windows[i] = sizes[i].Window
	}
	text := fmt.Sprintf("at ε = %s in windows of %s", number(best.Epsilon), spelling.List(windows, " or "))
	if best.Shown >= 0.5 {
		setting := "with the best setting"
		if q.Given.KeysPerUser != 0 || q.Given.EventsPerKey != 0 || q.Given.LastAtLeast != 0 {
			setting = "with the bounds that were given"
		}
		return text + ": " + setting + ", values are " + best.TypicalText() + ". " + upper(best.Cause())
	}
	return text + ": " + best.Cause()
}

// Cause says what most of the typical error comes from.
func (p *Point) Cause() string {
	switch {
	case p.Threshold > 0 && (p.Shown < 0.5 || p.ShownTruth < 0.5):
		return fmt.Sprintf("a private key is released from about %s on, and the largest count within the bounds is about %s",
			terminal.Number(math.Ceil(p.Threshold), 0), terminal.Number(p.Reach*p.Threshold, 0))
	case p.Noise > p.LeftOut:
		return "counts are too small: the noise that hides a user is large beside them"
	}
	return "bounds and budgets leave many events out, and to count more of them takes more noise"
}

func upper(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
