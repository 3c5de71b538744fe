package accounting_test

import (
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"

	"github.com/tollgate-dp/tollgate/state/accounting"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/transforms/mechanisms"
)

// server releases counts and keeps the sum of their losses across restarts.
type server struct {
	file  string
	total *accounting.Odometer[loss.ZCDP, loss.Approx]
}

func open(file string) (*server, error) {
	total, err := accounting.NewConcentratedOdometer(1e-6, 0.01)
	if err != nil {
		return nil, err
	}
	stored, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return &server{file, total}, nil
	}
	return &server{file, total}, errors.Join(err, total.UnmarshalBinary(stored))
}

// answer releases a count. Its loss is on disk before its noise is drawn.
func (s *server) answer(count, sigma float64) (float64, error) {
	noise, err := mechanisms.NewDiscreteGaussian(sigma)
	if err != nil {
		return 0, err
	}
	price, err := noise.ZCDP(1)
	if err := errors.Join(err, s.total.Record(price)); err != nil {
		return 0, err
	}
	state, err := s.total.MarshalBinary()
	if err := errors.Join(err, os.WriteFile(s.file+".new", state, 0o600)); err != nil {
		return 0, err
	}
	if err := os.Rename(s.file+".new", s.file); err != nil {
		return 0, err
	}
	return noise.Release(count, &mechanisms.System{})
}

// Each of two runs of a server releases a hundred counts; the second continues where the first
// ended.
func Example_server() {
	file := fmt.Sprintf("%s/odometer-%d", os.TempDir(), os.Getpid())
	defer os.Remove(file)
	for run := 1; run <= 2; run++ {
		s, err := open(file)
		if err != nil {
			log.Fatal(err)
		}
		for range 100 {
			if _, err := s.answer(1234, 50); err != nil {
				log.Fatal(err)
			}
		}
		fmt.Printf("run %d: realised loss at most %.3f\n", run, s.total.Bound().Epsilon)
	}
	// Output:
	// run 1: realised loss at most 1.156
	// run 2: realised loss at most 1.658
}
