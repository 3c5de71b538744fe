package serve

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"sort"

	"github.com/tollgate-dp/tollgate/internal/app/report"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
)

// view holds the responses as of one moment. It never changes.
type view struct {
	tag      string // ETag of responses that depend on values
	policy   string // content security policy of the page
	page     body
	rows     []schemas.Release  // in the order of position
	byMetric map[string][]int32 // indices of rows
	byKey    map[label][]int32  // indices of rows
	shares   []byte             // the response of /v1/shares
}

// label is a key of a metric.
type label struct{ metric, key string }

// body is a response that is the same for every client, plain and compressed.
type body struct{ plain, packed []byte }

func newBody(plain []byte) (body, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(plain)
	if err == nil {
		err = w.Close()
	}
	return body{plain, b.Bytes()}, err
}

// tagOf returns the weak ETag of a version. Plain and compressed responses have the same ETag.
func tagOf(version string) string { return `W/"` + version + `"` }

// versionOf returns a digest of constant bytes.
func versionOf(b []byte) string {
	sum := sha256.Sum256(b)
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// newView makes the page and indexes the kept values.
func newView(d *deployment.Deployment, rows []schemas.Release, o report.Options, l report.Live) (*view, error) {
	v := &view{rows: rows, byMetric: map[string][]int32{}, byKey: map[label][]int32{}}
	collector := report.NewCollector(d)
	for i := range rows {
		r := &rows[i]
		collector.Add(*r)
		v.byMetric[r.Metric] = append(v.byMetric[r.Metric], int32(i))
		id := label{r.Metric, r.Key}
		v.byKey[id] = append(v.byKey[id], int32(i))
	}
	var err error
	if v.shares, err = sharesResponse(report.CountedShares(d, rows)); err != nil {
		return nil, err
	}
	var page bytes.Buffer
	served, err := collector.WriteLive(&page, o, l)
	if err != nil {
		return nil, err
	}
	if v.page, err = newBody(page.Bytes()); err != nil {
		return nil, fmt.Errorf("compressing the page: %w", err)
	}
	v.tag, v.policy = tagOf(served.Version), served.Policy
	return v, nil
}

// find returns the first values that match a query. more reports whether further values match.
func (v *view) find(q *query) (found []*schemas.Release, more bool) {
	n, rowAt := len(v.rows), func(i int) *schemas.Release { return &v.rows[i] }
	if q.metric != nil {
		list := v.byMetric[*q.metric]
		if q.key != nil {
			list = v.byKey[label{*q.metric, *q.key}]
		}
		n, rowAt = len(list), func(i int) *schemas.Release { return &v.rows[list[i]] }
	}
	first := sort.Search(n, func(i int) bool {
		r := rowAt(i)
		return r.WindowEnd > q.from && (q.after == nil || positionOf(r).compare(*q.after) > 0)
	})
	for i := first; i < n && rowAt(i).WindowEnd <= q.to; i++ {
		if len(found) == q.limit {
			return found, true
		}
		found = append(found, rowAt(i))
	}
	return found, false
}
