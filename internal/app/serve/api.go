package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/report"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// releasesResponse returns the response of /v1/releases: the values, whether there are more, and
// the cursor for the next page. Values have the form in which tollgate run --format json prints
// them, but without the unit.
func releasesResponse(found []*schemas.Release, more bool) ([]byte, error) {
	b := make([]byte, 0, 64+384*len(found))
	b = append(b, `{"releases":[`...)
	for i, r := range found {
		text, err := r.MarshalJSON()
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, text...)
	}
	b = strconv.AppendBool(append(b, `],"more":`...), more)
	if n := len(found); n > 0 {
		b = append(append(append(b, `,"next":"`...), positionOf(found[n-1]).cursor()...), '"')
	}
	return append(b, '}'), nil
}

func (s *server) releases(w http.ResponseWriter, r *http.Request) {
	q, err := parseQuery(r.URL.RawQuery)
	if err != nil {
		response := errorResponse{Error: err.Error()}
		if e := (*badQuery)(nil); errors.As(err, &e) {
			response.Parameter = e.parameter
		}
		fail(w, http.StatusBadRequest, response)
		return
	}
	v := s.completeView(w)
	if v == nil {
		return
	}
	if q.metric != nil && !s.configured[*q.metric] && len(v.byMetric[*q.metric]) == 0 {
		fail(w, http.StatusNotFound, errorResponse{Error: "no metric has this name: /v1/metrics lists them",
			Parameter: "metric"})
		return
	}
	if notModified(w, r, v.tag) {
		return
	}
	text, err := releasesResponse(v.find(q))
	writeJSON(w, http.StatusOK, text, err)
}

// completeView returns the current view. If values are still being read, it responds with an error
// that states this, and returns nil.
func (s *server) completeView(w http.ResponseWriter) *view {
	if s.complete.Load() { // must precede view.Load, because show stores the view before complete
		return s.view.Load()
	}
	fail(w, http.StatusServiceUnavailable, errorResponse{
		Error: "values are still being read: try again in a few seconds"})
	return nil
}

// shareResponse is the share of the events of a metric's window that was counted.
type shareResponse struct {
	Metric      string    `json:"metric"`
	WindowStart time.Time `json:"window_start"`
	WindowEnd   time.Time `json:"window_end"`
	Share       float64   `json:"share"`
	Low         float64   `json:"low"`
	High        float64   `json:"high"`
	Confidence  float64   `json:"confidence"`
}

func sharesResponse(all []report.CountedShare) ([]byte, error) {
	out := make([]shareResponse, 0, len(all))
	for _, s := range all {
		out = append(out, shareResponse{s.Metric, time.UnixMilli(s.WindowStart).UTC(),
			time.UnixMilli(s.WindowEnd).UTC(),
			s.Share.Value, s.Share.Low, s.Share.High, s.Confidence})
	}
	text, err := json.Marshal(map[string][]shareResponse{"shares": out})
	if err != nil {
		return nil, fmt.Errorf("writing shares of counted events: %w", err)
	}
	return text, nil
}

func (s *server) shares(w http.ResponseWriter, r *http.Request) {
	if v := s.completeView(w); v != nil && !notModified(w, r, v.tag) {
		writeJSON(w, http.StatusOK, v.shares, nil)
	}
}

// metricsResponse is the response of /v1/metrics. It contains public configuration only.
type metricsResponse struct {
	Deployment string           `json:"deployment"`
	Guarantee  guarantee        `json:"guarantee"`
	ValueUnit  string           `json:"value_unit,omitempty"` // unit of values with decimals
	Metrics    []metricResponse `json:"metrics"`
}

// guarantee is the promise to every user.
type guarantee struct {
	Epsilon       float64  `json:"epsilon"`
	Delta         float64  `json:"delta"`
	Accountant    string   `json:"accountant"`
	PeriodSeconds *float64 `json:"period_seconds"` // null: a single period that never ends
}

type metricResponse struct {
	Name          string   `json:"name"`
	Kind          string   `json:"kind"`
	Of            string   `json:"of,omitempty"`
	WindowSeconds float64  `json:"window_seconds"`
	SlideSeconds  float64  `json:"slide_seconds"`
	Keys          string   `json:"keys"`
	KeysFrom      string   `json:"keys_from,omitempty"`
	Confidence    float64  `json:"confidence"`
	Relative      *float64 `json:"relative"` // null: no relative target
	Absolute      *float64 `json:"absolute"` // null: no absolute target
}

// describe returns the response of /v1/metrics for a deployment.
func describe(d *deployment.Deployment) ([]byte, error) {
	nonZero := func(v float64) *float64 {
		if v == 0 {
			return nil
		}
		return &v
	}
	seconds := func(ms int64) float64 { return (time.Duration(ms) * time.Millisecond).Seconds() }
	out := metricsResponse{
		Deployment: d.Config.Deployment, ValueUnit: d.Config.Events.Format.ValueUnit(),
		Guarantee: guarantee{
			Epsilon: d.Budget.Epsilon, Delta: d.Budget.Delta, Accountant: string(d.Budget.Accountant),
			PeriodSeconds: nonZero(d.Config.Privacy.Period.Seconds()),
		},
		Metrics: make([]metricResponse, 0, len(d.Metrics)),
	}
	for _, m := range d.Metrics {
		if metrickind.Of(m.Spec.Kind).Tree != nil { // the target is derived from the targets of the statistics
			m.Spec.Relative = 0
		}
		out.Metrics = append(out.Metrics, metricResponse{
			Name: m.Spec.Name, Kind: m.Spec.Kind, Of: m.Spec.Of, WindowSeconds: seconds(m.Spec.WindowSize),
			SlideSeconds: seconds(m.Spec.WindowSlide),
			Keys:         m.Spec.KeyMode, KeysFrom: m.Spec.KeysFrom, Confidence: m.Spec.Confidence,
			Relative: nonZero(m.Spec.Relative), Absolute: nonZero(m.Spec.Absolute),
		})
	}
	text, err := json.Marshal(out)
	return append(text, '\n'), err
}
