package main

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/tollgate-dp/tollgate/internal/terminal"
)

// finishingTurn says what a run does after it was told to end.
const finishingTurn = "ending; a turn that is being released is finished first"

// drainOnSignal closes drain at the first SIGINT or SIGTERM, saying what is done
// then, and ends the process at the second.
func (a *app) drainOnSignal(progress *terminal.Progress, saying func() string) (drain <-chan struct{}, stop func()) {
	signals := make(chan os.Signal, 2)
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
		select {
		case <-signals:
			os.Exit(exitError)
		case <-ended:
		}
	}()
	return draining, func() {
		signal.Stop(signals)
		close(ended)
	}
}
