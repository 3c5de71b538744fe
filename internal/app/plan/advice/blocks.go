package advice

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Block is a recommended setting. Its YAML carries no figure and no key of the data.
type Block struct {
	Goal     string  `json:"goal"`
	Sentence string  `json:"sentence"`       // what it gives, for the trusted side
	YAML     string  `json:"yaml"`           // the sections privacy and metrics of a configuration
	Demo     string  `json:"demo,omitempty"` // the command that does the same with the file
	Point    Point   `json:"point"`
	Largest  KeyLine `json:"largest_key"`
}

// Goals of blocks.
const (
	Accurate  = "accurate"
	LongLived = "long-lived"
	MostKeys  = "most keys"
)

// paths is over how many paths of noise a recommendation is forecast.
const paths = 20

// stillUseful is the share of what the most accurate setting shows and gets right that is left of
// it where users can take part longest.
const stillUseful = 0.85

// blocks chooses three points of a grid and forecasts them again, over more noise.
func (q *Question) blocks(ctx context.Context, s *SizeAdvice) ([]Block, error) {
	best := &s.Grid[s.best]
	useful := func(p *Point) bool {
		return 1-p.Wrong >= stillUseful*(1-best.Wrong) && (p.Shown > 0 || best.Wrong > hidden)
	}
	long, wide := best, best
	for i := range s.Grid {
		p := &s.Grid[i]
		if useful(p) && (p.LastAtLeast > long.LastAtLeast || p.LastAtLeast == long.LastAtLeast && better(p, long)) {
			long = p
		}
		if p.KeysShown > wide.KeysShown+0.5 || p.KeysShown > wide.KeysShown-0.5 && better(p, wide) {
			wide = p
		}
	}
	var out []Block
	for _, c := range []struct {
		goal string
		p    *Point
	}{{Accurate, best}, {LongLived, long}, {MostKeys, wide}} {
		b := Block{Goal: c.goal}
		if same := slices.IndexFunc(out, func(b Block) bool { return b.Point.Setting == c.p.Setting }); same >= 0 {
			b.Point, b.Largest = out[same].Point, out[same].Largest
		} else {
			p, err := q.point(ctx, s.windows, c.p.Setting, s.windows.Largest(1), paths)
			if err != nil {
				return nil, err
			}
			b.Point, b.Largest = *p, line(s.windows, p.keys[0])
		}
		b.Sentence = q.sentence(&b)
		b.YAML, b.Demo = q.yaml(&b.Point.Setting), q.demo(&b.Point.Setting)
		out = append(out, b)
	}
	return out, nil
}

// sentence says what a block gives.
func (q *Question) sentence(b *Block) string {
	p, k := &b.Point, &b.Largest
	name := k.Key
	if name == "" {
		name = "all events"
	}
	var parts []string
	switch windows := math.Round(k.Windows); {
	case p.Shown < 0.5:
		return "nothing would be released: see below what would help"
	case k.Shown < 0.5:
		parts = append(parts, "shows nothing of "+name)
	case q.Target.Relative > 0 && k.Within >= 0.5:
		parts = append(parts, fmt.Sprintf("shows %s within ± %.3g %% in %.0f of %s", name, 100*q.Target.Relative, math.Round(k.Within), plural(windows, "window")))
	default:
		parts = append(parts, fmt.Sprintf("shows %s in %.0f of %s, with %.0f of its %.0f"+q.unit()+" ± %s", name, math.Round(k.Shown), plural(windows, "window"),
			math.Round(k.Truth-k.Bias), math.Round(k.Truth), short(k.Noise95)))
	}
	parts = append(parts, fmt.Sprintf("%.0f of %s are released", math.Round(p.KeysShown), plural(math.Round(p.Keys), "key")),
		fmt.Sprintf("%.3g %% of "+q.all()+" in what comes out", 100*p.ShownTruth), "every user can take part for "+Lasts(p.Setting))
	if lost := p.Lost[len(p.Lost)-1].Share; lost > 0.0005 {
		parts = append(parts, fmt.Sprintf("%.2g %% of these users are left out before the end", 100*lost))
	}
	return strings.Join(parts, "; ")
}

// unit is what values are numbers of.
func (q *Question) unit() string {
	if q.Sample.Values {
		return ""
	}
	return " events"
}

func (q *Question) all() string {
	if q.Sample.Values {
		return "what there is to add up is"
	}
	return "the events are"
}

// short writes a number to three digits.
func short(v float64) string {
	if v >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

func plural(n float64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%.0f %ss", n, what)
}
