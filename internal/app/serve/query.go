package serve

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"time"
	"unicode/utf8"
)

const (
	defaultLimit = 100
	maxLimit     = 1000
)

// query holds the parameters of a request for /v1/releases.
type query struct {
	metric, key *string   // nil: any
	from, to    int64     // windows that end after from and not after to, in Unix milliseconds
	after       *position // nil: from the beginning
	limit       int
}

// badQuery is an error in a parameter. The text contains the remedy, but no data from the request.
type badQuery struct{ parameter, text string }

func (e *badQuery) Error() string { return e.text }

func newBadQuery(parameter, format string, args ...any) error {
	return &badQuery{parameter, fmt.Sprintf(format, args...)}
}

// parseQuery parses the parameters of /v1/releases. The error, if not nil, is a *badQuery.
func parseQuery(raw string) (*query, error) {
	given, err := url.ParseQuery(raw)
	if err != nil {
		return nil, newBadQuery("", "the query is not valid: write name=value pairs with & between them, and "+
			"percent-encode names and values")
	}
	q := &query{from: math.MinInt64, to: math.MaxInt64, limit: defaultLimit}
	for name, values := range given {
		read := parameters[name]
		switch {
		case read == nil:
			return nil, newBadQuery("", "there is an unknown parameter: /v1/releases takes metric, key, from, to, "+
				"limit and after")
		case len(values) > 1:
			return nil, newBadQuery(name, "%s is given more than once: give it once", name)
		case !utf8.ValidString(values[0]):
			return nil, newBadQuery(name, "%s is not UTF-8: encode it as UTF-8, then percent-encode it", name)
		}
		if err := read(q, values[0]); err != nil {
			return nil, err
		}
	}
	if q.key != nil && q.metric == nil {
		return nil, newBadQuery("metric", "key is only used with metric: add the metric of the key")
	}
	return q, nil
}

var parameters = map[string]func(q *query, text string) error{
	"metric": func(q *query, text string) error {
		q.metric = &text
		return nil
	},
	"key": func(q *query, text string) error {
		q.key = &text
		return nil
	},
	"from": func(q *query, text string) (err error) {
		q.from, err = parseTime("from", text)
		return err
	},
	"to": func(q *query, text string) (err error) {
		q.to, err = parseTime("to", text)
		return err
	},
	"limit": func(q *query, text string) (err error) {
		q.limit, err = strconv.Atoi(text)
		if err != nil || q.limit < 1 || q.limit > maxLimit {
			return newBadQuery("limit", "limit must be a whole number from 1 to %d: for more values, send further "+
				"requests with after", maxLimit)
		}
		return nil
	},
	"after": func(q *query, text string) error {
		after, ok := parseCursor(text)
		if !ok {
			return newBadQuery("after", "after must be the unchanged field next of an earlier response")
		}
		q.after = &after
		return nil
	},
}

func parseTime(name, text string) (int64, error) {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return 0, newBadQuery(name,
			"%s must be a time such as 2025-03-03T12:00:00Z (write the + of an offset as %%2B)", name)
	}
	return t.UnixMilli(), nil
}

// cursor encodes a position for clients.
func (a position) cursor() string {
	text, err := json.Marshal([]any{a.windowEnd, a.metric, a.windowStart, a.key})
	if err != nil { // impossible: encoding strings and integers does not fail
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// parseCursor decodes a position that cursor encoded.
func parseCursor(text string) (position, bool) {
	var a position
	decoded, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return a, false
	}
	var fields []json.RawMessage
	if err = json.Unmarshal(decoded, &fields); err != nil || len(fields) != 4 {
		return a, false
	}
	for i, to := range []any{&a.windowEnd, &a.metric, &a.windowStart, &a.key} {
		if json.Unmarshal(fields[i], to) != nil {
			return a, false
		}
	}
	return a, a.cursor() == text
}
