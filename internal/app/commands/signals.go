package commands

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/tollgate-dp/tollgate/internal/app/terminal"
)

// finishingTurn says what a run does after the first signal.
const finishingTurn = "ending once the turn that is being released is finished"

// drainOnSignal closes drain at the first SIGINT or SIGTERM, saying what is done
// then, calls second at the second one, and ends the process at a third.
func (a *app) drainOnSignal(progress *terminal.Progress, saying func() string, second func()) (drain <-chan struct{}, stop func()) {
	signals := make(chan os.Signal, 3)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	draining, ended := make(chan struct{}), make(chan struct{})
	go func() {
		select {
		case <-signals:
			close(draining)
			progress.Mention("%s; a second signal stops at once", saying())
		case <-ended:
			return
		}
		for _, then := range []func(){second, a.exit} {
			select {
			case <-signals:
				then()
			case <-ended:
				return
			}
		}
	}()
	return draining, func() {
		signal.Stop(signals)
		close(ended)
	}
}
