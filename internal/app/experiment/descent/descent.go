package descent

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/tollgate-dp/tollgate/internal/app/experiment"
	"github.com/tollgate-dp/tollgate/state/continual"
	"github.com/tollgate-dp/tollgate/transforms/mechanisms"
)

// Experiments returns the experiments of the package.
func Experiments() []experiment.Experiment {
	source := "Feldman and Zrnic 2021, Section 5.1 and the tables of the conference version"
	return []experiment.Experiment{
		{
			Name: "descent-images", Title: "Private gradient descent with individual filtering, on images of digits",
			Source: source,
			Data:   ofImages.data, Run: ofImages.run,
		},
		{
			Name: "descent-census", Title: "Private gradient descent with individual filtering, on records of a census",
			Source: source,
			Data:   ofCensus.data, Run: ofCensus.run,
		},
		{
			Name: "descent-clips", Title: "Filtered gradient descent by clip and ε: AUC and single ε, on records of " +
				"a census",
			Source: "Koskela, Tobaben and Honkela, Appendix E, Figures 6 to 10", Data: ofCensus.data, Run: clips,
		},
	}
}

// study is an experiment with models on real data and on synthetic data of the same shape.
type study struct {
	data      *experiment.Data
	real      func(experiment.Options) (*dataset, error)
	madeUp    func(o experiment.Options, train, test int) *dataset
	train     int
	test      int
	trials    int
	promises  []promise
	models    []tried
	paper     map[string]map[float64]paper // by name of the variant and ε
	onlyPaper bool                         // whether to skip values of ε that are not in the paper's tables
	figureOf  string                       // name of the model whose active examples are drawn
	notes     []string
}

// tried is a model with its tuning. At the small size, only the first model of a study is tried.
type tried struct {
	name     string
	hidden   int
	squared  bool
	tuning   tuning
	variants []variant
}

// paper holds the accuracies in the paper, in %.
type paper struct{ plain, filtered float64 }

var ofImages = study{
	data: mnistData, real: mnist, madeUp: images, train: 60_000, test: 10_000, trials: 2,
	promises: promises,
	models: []tried{
		{"logistic", 0, false, tuning{8, 1, map[float64]int{0.3: 40, 0.5: 40, 1.0: 60, 1.2: 60}}, variants[:1]},
		{"network", 16, false, tuning{6, 1.5, map[float64]int{0.3: 40, 0.5: 60, 1.0: 60, 1.2: 60}}, variants},
	},
	paper: map[string]map[float64]paper{
		variants[0].name: {0.3: {93.29, 93.64}, 0.5: {94.62, 94.90}, 1.0: {96.25, 96.25}, 1.2: {96.56, 96.56}},
		variants[1].name: {0.3: {84.47, 92.25}, 0.5: {92.07, 94.30}, 1.0: {94.45, 95.33}},
		variants[2].name: {0.3: {86.88, 91.20}, 0.5: {92.37, 93.86}, 1.0: {94.35, 94.50}},
	},
	figureOf: "network", onlyPaper: true,
	notes: []string{"The paper's model is a convolutional network of 26,010 parameters that learns for 112 to 420 " +
		"steps; its values stand beside the network. The models here have 1,970 and 3,322 parameters of images " +
		"averaged to 14 by 14, and 40 to 60 steps with as much less noise: fewer digits are classified, for the same " +
		"promise."},
}

var ofCensus = study{
	data: adultData, real: adult, madeUp: census, train: 32_561, test: 16_281, trials: 5,
	promises: []promise{promises[0], promises[1], promises[3]},
	models: []tried{
		{"logistic", 0, false, tuning{2, 2, map[float64]int{0.3: 100, 0.5: 100, 1.2: 100}}, variants},
		{"linear", 0, true, tuning{1, 1, map[float64]int{0.3: 100, 0.5: 100, 1.2: 100}}, variants[:1]},
		{"network", 8, false, tuning{2, 2, map[float64]int{0.3: 100, 0.5: 100, 1.2: 100}}, variants},
	},
	paper: map[string]map[float64]paper{
		variants[0].name: {0.3: {83.80, 83.91}, 0.5: {84.11, 84.18}, 1.2: {84.45, 84.48}},
	},
	figureOf: "logistic",
	notes: []string{"The paper does not state which model it trains on Adult (its values stand beside the logistic " +
		"model), nor the noise and the number of steps."},
}

// measured holds the results of the trials: accuracies on the test set in %, and, for every step of
// the first trial, the share of the examples that can still pay.
type measured struct {
	plain, filtered sample
	stopped, sparse sample // accuracies with the private stop, and with the sparse stop
	active          []float64
}

// sample holds the values of the trials.
type sample []float64

func (s sample) mean() float64 { return stat.Mean(s, nil) }

// cells returns the mean and the standard deviation of the trials. For a single trial, the
// deviation is nil.
func (s sample) cells() []any {
	if len(s) < 2 {
		return []any{s.mean(), nil}
	}
	mean, deviation := stat.MeanStdDev(s, nil)
	return []any{mean, deviation}
}

func (s study) run(ctx context.Context, o experiment.Options) (*experiment.Result, error) {
	costs := privacy(s.promises)
	if o.Size == experiment.Small {
		s.train, s.test, s.trials = 20_000, 5_000, 1
		s.figureOf, s.promises = s.models[0].name, s.promises[len(s.promises)-1:]
		s.models, s.onlyPaper = []tried{s.models[0]}, false
		s.models[0].variants = variants
	}
	found, err := s.real(o)
	if err != nil {
		return nil, err
	}
	result := &experiment.Result{Tables: []experiment.Table{costs}, Notes: slices.Concat(s.notes, notes)}
	if found == nil {
		result.Notes = append(result.Notes, s.data.Missing())
	}
	synthetic := s.madeUp(o, s.train, s.test)
	for k, v := range variants {
		table, tasks := s.table(v), s.tasks(v)
		for j, task := range tasks {
			t, p := task.tried, task.promise
			for i, d := range []*dataset{found, synthetic} {
				if d == nil {
					table.Rows = append(table.Rows, s.row(v, t, p, s.data.Name, nil))
					continue
				}
				o.ReportProgress(k*len(tasks)+j, len(variants)*len(tasks),
					fmt.Sprintf("%s, %s, ε = %v, %s", d.name, t.name, p.epsilon, v.name))
				m, err := s.trial(ctx, o, d, v, t, p)
				if err != nil {
					return nil, err
				}
				table.Rows = append(table.Rows, s.row(v, t, p, d.name, m))
				if t.name == s.figureOf && (i == 0 || found == nil) {
					s.draw(result, v, p, d.name, t, m.active)
				}
			}
		}
		result.Tables = append(result.Tables, table)
	}
	return result, nil
}

var notes = []string{
	"\"Filtered\" takes the iterate with the highest training accuracy out of eight, which are five steps apart and " +
		"begin at step k, like the paper. Neither the paper nor this experiment pays for looking at the training " +
		"accuracy. The private stop pays a hundredth of ρ: a continual count of the examples that have left " +
		"(state/continual) shows when fewer than 80% remain. The sparse stop also pays: sparse vector " +
		"(transforms/mechanisms) publishes at each look only whether to stop.",
	"Filtering helps if the clip is too large or the noise too low, because every account then pays for too few " +
		"steps. If everything is tuned, there is little left to gain. The more difficult examples have left, the " +
		"more the model learns only from easy ones, so accuracy can fall: that is the reason for the rule to stop.",
	"Made-up data can show how the two algorithms compare, and that no account is overdrawn; they cannot show the " +
		"accuracy on the paper's data.",
}

// task is a model and an ε to measure.
type task struct {
	tried
	promise
}

// tasks returns the tasks for a variant.
func (s study) tasks(v variant) (all []task) {
	for _, t := range s.models {
		if !slices.ContainsFunc(t.variants, func(w variant) bool { return w.name == v.name }) {
			continue
		}
		for _, p := range s.promises {
			if _, has := s.paper[v.name][p.epsilon]; has || !s.onlyPaper {
				all = append(all, task{t, p})
			}
		}
	}
	return all
}

func (s study) table(v variant) experiment.Table {
	return experiment.Table{
		Title: fmt.Sprintf("Test accuracy in %%, %s", v.name),
		Columns: append([]experiment.Column{{Name: "data"}, {Name: "model"}, {Name: "ε", Digits: 1}},
			experiment.Columns(2, "paper", "plain", "±", "deviation", "paper", "filtered", "±", "deviation",
				"private stop", "±", "sparse stop", "±")...),
		Note: fmt.Sprintf("Trials: %d; ± is the standard deviation of a single trial. The paper's values precede the "+
			"measured values, and deviations follow them.", s.trials),
	}
}

// row returns a row of the table. It contains the paper's values if the row is about the model
// figureOf on the real data.
func (s study) row(v variant, t tried, p promise, data string, m *measured) []any {
	out := append([]any{data, t.name, p.epsilon}, make([]any, 12)...)
	stated, has := s.paper[v.name][p.epsilon]
	has = has && data == s.data.Name && t.name == s.figureOf
	if has {
		out[3], out[7] = stated.plain, stated.filtered
	}
	if m == nil {
		return out
	}
	copy(out[4:], m.plain.cells())
	copy(out[8:], m.filtered.cells())
	copy(out[11:], m.stopped.cells())
	copy(out[13:], m.sparse.cells())
	if has {
		out[6], out[10] = m.plain.mean()-stated.plain, m.filtered.mean()-stated.filtered
	}
	return out
}

func (s study) draw(r *experiment.Result, v variant, p promise, data string, t tried, active []float64) {
	title := fmt.Sprintf("Examples that still pay, %s, %s, %s", data, t.name, v.name)
	if len(r.Figures) == 0 || r.Figures[len(r.Figures)-1].Title != title {
		r.Figures = append(r.Figures, experiment.Figure{Title: title, X: "step", Y: "% of the examples"})
	}
	line := experiment.Series{Name: fmt.Sprintf("ε = %v", p.epsilon)}
	for step, share := range active {
		line.Add(float64(step), 100*share)
	}
	f := &r.Figures[len(r.Figures)-1]
	f.Series = append(f.Series, line)
}

// trial runs all trials of a model on a data set.
func (s study) trial(ctx context.Context, o experiment.Options, d *dataset, v variant, t tried, p promise) (*measured,
	error) {
	net := model{t.name, d.inputs, d.classes, t.hidden, t.squared}
	steps := t.tuning.steps[p.epsilon]
	start := v.apply(setting{p.sigmaFor(steps), t.tuning.clip, t.tuning.rate, steps}, p.off)
	m := &measured{}
	for trial := range s.trials {
		labels := fmt.Sprintf("%s, %s, %s, %v, %d", d.name, t.name, v.name, p.epsilon, trial)
		training := newDescent(net, start, d.train, o.Random("descent", labels))
		active, err := m.learn(ctx, training, d.test, newStop(p, o, labels),
			newSparseStop(p, len(d.train.classes), o, labels))
		if err != nil {
			return nil, err
		}
		if trial == 0 {
			m.active = active
		}
	}
	return m, nil
}

// learn trains for the steps that every account pays for, and then continues from check to check.
// It adds the accuracies of the algorithms to m, and returns the share of active examples by step.
func (m *measured) learn(ctx context.Context, d *descent, test part, stop *stop, sparse *sparseStop) (active []float64,
	err error) {
	n := len(d.accounts)
	step := func() error {
		active = append(active, float64(d.active())/float64(n))
		return d.run(ctx, 1)
	}
	for range d.setting.steps {
		if err := step(); err != nil {
			return nil, err
		}
	}
	best, filtered, stopped, sparsely := -1.0, 0.0, -1.0, -1.0
	for look := range checks {
		for range min(look, 1) * between {
			if err := step(); err != nil {
				return nil, err
			}
		}
		accuracy := 100 * d.model.accuracy(d.theta, test)
		if look == 0 {
			m.plain = append(m.plain, accuracy)
		}
		if trained := d.model.accuracy(d.theta, d.examples); trained > best {
			best, filtered = trained, accuracy
		}
		end, err1 := stop.now(n, d.active())
		ends, err2 := sparse.now(n, d.active())
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		if stopped < 0 && (end || look == checks-1) {
			stopped = accuracy
		}
		if sparsely < 0 && (ends || look == checks-1) {
			sparsely = accuracy
		}
	}
	m.filtered, m.stopped = append(m.filtered, filtered), append(m.stopped, stopped)
	m.sparse = append(m.sparse, sparsely)
	return active, nil
}

// stop is the private stop. It publishes noisy counts of the examples that have left.
type stop struct {
	counter *continual.Counter
	left    int
}

func newStop(p promise, o experiment.Options, labels string) *stop {
	matrix, sigma, _ := counterOf(p)
	random := o.Random("stop", labels)
	release := func(total int64, sigma float64) (float64, error) {
		return float64(total) + sigma*random.NormFloat64(), nil
	}
	return &stop{counter: experiment.Must(continual.NewCounter(matrix, sigma, release))}
}

// now publishes the noisy number of examples that have left, and reports whether too few of n
// examples are active.
func (s *stop) now(n, active int) (bool, error) {
	gone := n - active
	count, err := s.counter.Next(int64(gone - s.left))
	s.left = gone
	return float64(n)-count < enough*float64(n), err //nolint:wrapcheck // eight checks cause no error
}

// sparseStop compares the number of examples that have left with a threshold. It publishes no
// count, and pays once for all checks.
type sparseStop struct {
	search *mechanisms.Search
	source seeded
	ended  bool
}

// seeded is a source of noise.
type seeded struct{ *rand.Rand }

func (s seeded) Word() uint64 { return s.Uint64() }

func newSparseStop(p promise, n int, o experiment.Options, labels string) *sparseStop {
	sparse, _ := sparseOf(p)
	source := seeded{o.Random("sparse", labels)}
	return &sparseStop{search: experiment.Must(sparse.Begin((1-enough)*float64(n), source)), source: source}
}

// now reports whether training has ended, at this check or an earlier one, because too many of n
// examples have left.
func (s *sparseStop) now(n, active int) (ends bool, err error) {
	if !s.ended {
		s.ended, err = s.search.Above(float64(n-active), s.source)
	}
	return s.ended, err //nolint:wrapcheck // a finite number causes no error
}
