package forecast

import (
	"context"
	"errors"
	"runtime"
	"sync"

	"github.com/tollgate-dp/tollgate/internal/app/plan/sample"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// ErrUnsupported says that a deployment cannot be forecast.
var ErrUnsupported = errors.New("no forecast for this")

// Options say how a forecast is made.
type Options struct {
	Paths int      // of noise; 0 is 1. Means are over them
	Seed  uint64   // of the first path
	Keys  []uint32 // keys of the windows that are told one by one
	// Lost are numbers of windows after which users are counted that were left out, and whose own
	// error is told; the last window is always told.
	Lost []int
	// Within is the relative error that Keys are to be within; 0 is the target.
	Within float64
	// Cells is what Measure returns of the windows and the deployment, where it is known; nil: it
	// is computed.
	Cells *Cells
}

// Forecast is what is to be expected, as means over the paths. Numbers of events, users and counts
// are of all users, also where a part of them was sampled; numbers of keys are of the sample.
type Forecast struct {
	Windows int
	Means
	SE Means // standard errors of the means; 0 for one path

	FirstSigma, TopSigma float64 // deviation of the first noise, and of the least
	Threshold            float64 // −Inf where keys are public
	Lost                 []Lost
	Keys                 []Key    // in the order of Options.Keys
	Beside               []Beside // in the order of the deployment
}

// Means are what is said of all windows together.
type Means struct {
	// Truth is how much there is to count: events (of means, too), or for distinct users pairs of
	// user and key, or for sums the sizes of what every user adds to a count. Kept is the part of
	// it within the bounds, Counted that of users who could pay, too.
	Truth, Kept, Counted float64
	// Counts are the pairs of window and key with a truth, or where keys are public all pairs of
	// the list; Shown are those of them that come out, and ShownTruth is the truth of these.
	Counts, Shown, ShownTruth float64
	KeysEver, KeysShown       float64 // the keys of Counts, and those of them that come out at all
	Met                       float64 // of the counts that come out, those that meet the target
	Error                     float64 // of a value that comes out: mean of |value − real value|
	RelativeError             float64 // sum of |value − real value| by that of scales, where they come out
	// Typical is the error that people mean, the median of |value − real value| / scale over
	// the cells that hold half of what there is to count (Cells); a cell without a value counts
	// as 1. The scale of a count or a sum is its truth, that of a mean is spread's. Noise is
	// the part of it that noise alone has, in those of them that come out, and Left that of events
	// that are not counted: beyond the bounds, of spent budgets, and all of those that do not come
	// out.
	Typical, Noise, Left float64
	// Smooth is the mean of log(1 + |value − truth| / truth) over the same cells: it changes where
	// the median does not yet. Cells is how many they are.
	Smooth, Cells float64
	// Reach is the greatest count of a private key by the threshold: below 1 a key comes out only
	// when its noise is high. 0 for public keys.
	Reach float64
}

// Lost is how many users were left out of a window for their budget, up to a window's end.
type Lost struct {
	Window    int // how many windows had ended
	Users, SE float64
	// RelativeError is that of Means, of the last of these windows alone.
	RelativeError float64
}

// Key is what is to be expected of one key, as means over its windows with a truth.
type Key struct {
	Key uint32
	KeyMeans
	SE KeyMeans // standard errors of the means; 0 for one path
}

// KeyMeans are what is said of one key.
type KeyMeans struct {
	Windows float64 // with a truth
	Truth   float64 // the real value
	Bias    float64 // how far the value would be below it without noise: how much is not counted
	Noise   float64 // half of the interval that is printed, of the counts that come out
	Shown   float64 // windows in which it comes out
	Met     float64 // windows in which it comes out and meets the target
	Within  float64 // windows in which the value comes out within the target of the truth
}

// Of makes a forecast of the first metric of a deployment, with all cores over the paths. Safe for
// concurrent use. Errors: ErrUnsupported, or ctx's.
func Of(ctx context.Context, w *sample.Windows, d *deployment.Deployment, o Options) (*Forecast, error) {
	m, err := newModel(w, d, o)
	if err != nil {
		return nil, err
	}
	paths := make([]*totals, max(1, o.Paths))
	var wait sync.WaitGroup
	slots := make(chan struct{}, max(1, runtime.GOMAXPROCS(0)))
	for i := range paths {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			paths[i] = m.walk(ctx, o.Seed+uint64(i))
		})
	}
	wait.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return m.expect(paths), nil
}
