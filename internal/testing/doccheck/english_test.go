package doccheck

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// idioms are phrases that make comments read as if they were translated, with their rates per
// 10,000 words of comments in franz-go v1.22.2 (pkg/kgo) and pebble v1.1.5, measured by this list.
var idioms = []struct {
	name            string
	phrase          *regexp.Regexp
	franzgo, pebble float64
}{
	{"says, tells, told (returns, reports, logs)", regexp.MustCompile(`\b(says?|said|saying|tells?|told|telling)\b`),
		3.9, 1.7},
	{"clause that begins with what",
		regexp.MustCompile(`(^|[.:;,(] ?)what\b|\bwhat (is|was|are|were|it|has|had|no|nobody)\b`), 4.3, 0.8},
	{"that of, those of", regexp.MustCompile(`\b(that|those) of\b`), 0.1, 0.2},
	{"where (if)", regexp.MustCompile(`\bwhere (it|a|an|no|nothing|one|there|that|this|they|none)\b`), 1.5, 1.4},
	{"answer (response)", regexp.MustCompile(`\b(answers?|answered|answering)\b`), 2.8, 0.3},
	{"stands (is)", regexp.MustCompile(`\b(stands?|stood|standing)\b`), 0.3, 0},
	{"takes over, takes up, comes",
		regexp.MustCompile(`\b(takes?|took|taken|taking) (over|up|part)\b|\b(comes?|came)\b`), 3.3, 0.8},
	{"from … on", regexp.MustCompile(`\bfrom (\w+ ){1,3}on([.,;:)]|$)`), 0.1, 0},
	{"also if, also for", regexp.MustCompile(`\balso (where|if|for|when|after|of|in|with)\b`), 0.1, 0.1},
	{"is no X (is not an X)", regexp.MustCompile(`\b(is|are|was|were) no\b`), 5.1, 6.3},
	{"of which, by which", regexp.MustCompile(`\b(of|by|under|for|from|after|in|at|on|with|to) which\b`), 1.8, 6.1},
	{"comment that begins with of, that, what, whose", regexp.MustCompile(`^(of|that|what|whose)\b`), 0.7, 0.1},
}

// idiomCeiling limits the idioms per 10,000 words of comments. Lower it after you have rewritten a
// package; never raise it. franz-go has 24, pebble 18.
const idiomCeiling = 38.5

func TestCommentsReadAsANativeEngineerWouldWriteThem(t *testing.T) {
	words, total := 0, 0
	found := make([]int, len(idioms))
	byDir := map[string]int{}
	for _, s := range sources(t) {
		for _, comment := range comments(s) {
			words += len(strings.Fields(comment))
			for i, idiom := range idioms {
				n := len(idiom.phrase.FindAllString(strings.ToLower(comment), -1))
				found[i] += n
				byDir[s.dir] += n
				total += n
			}
		}
	}
	per10k := func(n int) float64 { return float64(n) * 1e4 / float64(words) }
	table := ""
	for i, idiom := range idioms {
		table += fmt.Sprintf("%6.1f (franz-go %.1f, pebble %.1f) %s\n", per10k(found[i]), idiom.franzgo, idiom.pebble,
			idiom.name)
	}
	t.Logf("%d words of comments, idioms per 10,000 words: %.1f\n%s", words, per10k(total), table)
	if rate := per10k(total); rate > idiomCeiling {
		dirs := make([]string, 0, len(byDir))
		for dir := range byDir {
			dirs = append(dirs, dir)
		}
		slices.SortFunc(dirs, func(a, b string) int { return cmp.Compare(byDir[b], byDir[a]) })
		t.Errorf("%.1f idioms per 10,000 words of comments, the ceiling is %.1f: reword comments; most are in %v",
			rate, idiomCeiling, dirs[:5])
	}
}

// comments returns the text of each comment of a file on one line, without directives.
func comments(s source) []string {
	var texts []string
	for _, group := range s.file.Comments {
		if text := strings.Join(strings.Fields(group.Text()), " "); text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}
