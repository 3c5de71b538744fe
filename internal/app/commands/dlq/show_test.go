package dlq

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// Whatever the record, show prints no user id and no key unless it is asked for.
func TestRuleShownDeadLettersHaveNoUserAndNoKey(t *testing.T) {
	t.Parallel()
	for _, value := range []string{
		`{"user":"ada@example.org","key":"oncology","time":"soon"}`, "ada@example.org,oncology,soon",
		"ada@example.org\toncology\tsoon", `"{\"user\":\"ada@example.org\"`, "\xffada@example.org oncology",
		`{"ada@example.org":{"oncology":4711}}`, strings.Repeat("é", shownBytes) + "oncology",
	} {
		l := &pipeline.DeadLetter{DeadLetterRecord: schemas.DeadLetterRecord{Class: "ada@example.org",
			Key: []byte("ada@example.org"), Value: []byte(value)},
			Now: &event.Error{Class: event.ClassBadTimestamp, Field: "time"}}
		for _, trusted := range []bool{false, true} {
			var b strings.Builder
			all := []letter{shown(l, trusted)}
			writeLetters(&b, all)
			text := b.String() + string(must.Have(json.Marshal(all)))
			for _, secret := range []string{"ada", "example", "onco", "4711"} {
				if !trusted && strings.Contains(text, secret) {
					t.Errorf("%q shows %s: %s", value, secret, text)
				}
			}
			if trusted != strings.Contains(text, "ada@example.org") || !strings.Contains(text,
				"bad_timestamp, field time") {
				t.Errorf("%q, trusted %v: %s", value, trusted, text)
			}
		}
	}
	if got := mask("\xff ab"); got != "x" {
		t.Errorf("bytes that are no text: %s", got)
	}
	if got, want := mask(`{"user": "u17", "time": -12.5}`), `{"x": "x", "x": 9}`; got != want {
		t.Errorf("%s, want %s", fmt.Sprint(got), want)
	}
}

func TestTheFirstAndTheLastDeadLetterOfSeveralPartitions(t *testing.T) {
	found := map[string]*class{}
	for _, second := range []int64{5, 9, 2} {
		count(found, &pipeline.DeadLetter{At: time.Unix(second, 0)})
	}
	if c := found["other"]; c.Records != 3 || c.First.Unix() != 2 || c.Last.Unix() != 9 {
		t.Errorf("%+v", c)
	}
}

func TestShowSaysThatThereAreNoDeadLetters(t *testing.T) {
	var b strings.Builder
	if writeLetters(&b, nil); !strings.HasPrefix(b.String(), "no dead letters") {
		t.Errorf("%q", &b)
	}
}
