package deployfiles

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"sigs.k8s.io/yaml"
)

// What a dashboard of Grafana has, version 39 of its format, as far as ours needs it: a field that
// Grafana has and these types do not is an error, too.
type (
	source struct {
		Type string `json:"type"`
		UID  string `json:"uid"`
	}
	target struct {
		RefID        string `json:"refId"`
		Source       source `json:"datasource"`
		EditorMode   string `json:"editorMode"`
		Expr         string `json:"expr"`
		LegendFormat string `json:"legendFormat"`
		Instant      bool   `json:"instant"`
		Range        bool   `json:"range"`
	}
	step struct {
		Color string   `json:"color"`
		Value *float64 `json:"value"`
	}
	mapping struct {
		Type    string `json:"type"`
		Options map[string]struct {
			Text  string `json:"text"`
			Color string `json:"color"`
			Index int    `json:"index"`
		} `json:"options"`
	}
	panel struct {
		ID          int     `json:"id"`
		Type        string  `json:"type"`
		Title       string  `json:"title"`
		Description string  `json:"description"`
		Source      *source `json:"datasource"`
		GridPos     struct {
			X, Y, W, H int
		} `json:"gridPos"`
		FieldConfig struct {
			Defaults struct {
				Unit       string                `json:"unit"`
				Min        *float64              `json:"min"`
				Decimals   *int                  `json:"decimals"`
				Color      struct{ Mode string } `json:"color"`
				Custom     map[string]any        `json:"custom"`
				Mappings   []mapping             `json:"mappings"`
				Thresholds struct {
					Mode  string `json:"mode"`
					Steps []step `json:"steps"`
				} `json:"thresholds"`
			} `json:"defaults"`
			Overrides []struct{} `json:"overrides"`
		} `json:"fieldConfig"`
		Options   map[string]any `json:"options"`
		Targets   []target       `json:"targets"`
		Collapsed bool           `json:"collapsed"`
		Panels    []panel        `json:"panels"`
	}
	variable struct {
		Name       string            `json:"name"`
		Label      string            `json:"label"`
		Type       string            `json:"type"`
		Source     *source           `json:"datasource"`
		Query      any               `json:"query"`
		Current    map[string]string `json:"current"`
		Hide       int               `json:"hide"`
		IncludeAll bool              `json:"includeAll"`
		AllValue   string            `json:"allValue"`
		Multi      bool              `json:"multi"`
		Refresh    int               `json:"refresh"`
		Sort       int               `json:"sort"`
	}
	dashboard struct {
		UID           string   `json:"uid"`
		Title         string   `json:"title"`
		Description   string   `json:"description"`
		Tags          []string `json:"tags"`
		SchemaVersion int      `json:"schemaVersion"`
		Version       int      `json:"version"`
		Editable      bool     `json:"editable"`
		GraphTooltip  int      `json:"graphTooltip"`
		Timezone      string   `json:"timezone"`
		Refresh       string   `json:"refresh"`
		Time          struct{ From, To string }
		Templating    struct{ List []variable }
		Panels        []panel `json:"panels"`
	}
)

// panels returns the panels of the dashboard, those of collapsed rows included.
func panels(t *testing.T, text []byte) (dashboard, []panel) {
	t.Helper()
	var d dashboard
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	ok(t, decoder.Decode(&d))
	all := slices.Clone(d.Panels)
	for _, p := range d.Panels {
		all = append(all, p.Panels...)
	}
	return d, all
}

func TestTheDashboardIsWell(t *testing.T) {
	d, all := panels(t, file(t, "monitoring/dashboard.json"))
	var provisioned struct{ Datasources []struct{ UID, Type string } }
	ok(t, yaml.Unmarshal(file(t, "compose/grafana-datasources.yaml"), &provisioned))
	if got := d.Templating.List[0]; got.Type != "datasource" || got.Current["value"] != provisioned.Datasources[0].UID || got.Query != provisioned.Datasources[0].Type {
		t.Errorf("variable %+v, provisioned %+v", got, provisioned)
	}
	ids, taken := map[int]string{}, map[[2]int]string{}
	for _, p := range all {
		if other, twice := ids[p.ID]; twice {
			t.Errorf("%s has the id of %s", p.Title, other)
		}
		ids[p.ID] = p.Title
		at := p.GridPos
		for x := at.X; x < at.X+at.W; x++ {
			for y := at.Y; y < at.Y+at.H; y++ {
				if other, is := taken[[2]int{x, y}]; is || x > 23 {
					t.Errorf("%s stands on %s, or beyond the page", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		if p.Type == "row" {
			continue
		}
		if p.Title == "" || p.Description == "" || p.FieldConfig.Defaults.Unit == "" || len(p.Targets) == 0 || !slices.Contains([]string{"stat", "timeseries"}, p.Type) {
			t.Errorf("panel %d (%s) lacks a title, a description, a unit or a query", p.ID, p.Title)
		}
		for i, q := range p.Targets {
			if q.RefID != string(rune('A'+i)) || q.Source != (source{"prometheus", "${datasource}"}) || q.Instant == q.Range {
				t.Errorf("%s: %+v", p.Title, q)
			}
			if _, err := promParser().ParseExpr(asked(q.Expr)); err != nil {
				t.Errorf("%s: %v", p.Title, err)
			}
		}
	}
	if len(all) < 20 {
		t.Errorf("only %d panels", len(all))
	}
}

// asked is a query as Grafana sends it, with all runs, and a scrape every two seconds.
func asked(expr string) string {
	return strings.NewReplacer("$instance", ".*", "$__rate_interval", "8s").Replace(expr)
}

// Every panel shows something of a run and its page that Prometheus has scraped, and nothing of
// either is named after what events brought.
func TestEveryPanelShowsARunThatWasScraped(t *testing.T) {
	p := scrapedRun(t)
	_, all := panels(t, file(t, "monitoring/dashboard.json"))
	for _, panel := range all {
		for _, q := range panel.Targets {
			series := p.await(t, asked(q.Expr))
			for _, s := range series {
				if legend := legendOf(q.LegendFormat, s); strings.Contains(legend, "{{") {
					t.Errorf("%s: no label for %s: %v", panel.Title, q.LegendFormat, s.Metric)
				}
			}
		}
	}
	for _, rule := range alerts(t) {
		if firing := p.query(t, rule.Expr); len(firing) != 0 {
			t.Errorf("%s would fire for a run that is well: %v", rule.Alert, firing)
		}
	}
	for _, s := range p.query(t, `{__name__=~".+"}`) {
		if text := s.Metric.String(); strings.Contains(text, "user-") || strings.Contains(text, "/home") {
			t.Errorf("a series has a user or a key: %s", text)
		}
	}
}

func legendOf(format string, s promql.Sample) string {
	for name, value := range s.Metric.Map() {
		format = strings.ReplaceAll(format, "{{"+name+"}}", value)
	}
	return format
}

// visits are events of the two minutes before a time, and one record that is no event.
func visits(now time.Time) []byte {
	var b bytes.Buffer
	fmt.Fprintln(&b, `{"who": 7}`)
	for i := range 12000 {
		at := now.Add(-2*time.Minute + time.Duration(i)*10*time.Millisecond)
		fmt.Fprintf(&b, "{\"who\": \"user-%d\", \"page\": %q, \"at\": %d}\n", i, []string{"/cart", "/home", "/search"}[i%3], at.UnixMilli())
	}
	return b.Bytes()
}
