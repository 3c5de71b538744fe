package command

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/tollgate-dp/tollgate/internal/app/terminal"
)

// FinishingTurn is the note of a run after the first signal.
const FinishingTurn = "ending once the turn that is being released is finished"

// DrainOnSignal closes drain at the first SIGINT or SIGTERM and mentions the text of saying. It
// calls second at the second signal, and ends the process at the third.
func (a *App) DrainOnSignal(progress *terminal.Progress, saying func() string, second func()) (drain <-chan struct{},
	stop func()) {
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
		for _, then := range []func(){second, a.Exit} {
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
