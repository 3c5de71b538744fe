package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
)

func Probe(c *command.App) *cobra.Command {
	a := &app{c}
	var (
		address string
		wait    time.Duration
	)
	cmd := &cobra.Command{
		Use:   "probe",
		Short: "Ask a run or a page that listens whether it is ready",
		Long: `Ask an address of a process that was started with --listen. The exit code is 0 if the
answer is 200, otherwise 1. Use this command as the health check in an image that
contains only this program.`,
		Example: `  tollgate probe
  tollgate probe --url http://localhost:8080/-/healthy`,
		Args: command.NoArguments("--url"),
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&address, "url", "http://localhost:9464/-/ready", "the address to ask")
	command.DurationFlag(flags, &wait, "timeout", 5*time.Second, "how long an answer may take")
	cmd.RunE = a.Run(func(cmd *cobra.Command) error {
		if wait <= 0 {
			return command.Must("timeout", "above 0")
		}
		u, err := url.Parse(address)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return command.Must("url", "an address like http://localhost:9464/-/ready")
		}
		if u.User != nil {
			return command.Usage(errors.New("--url has a user or a password in it: other users of this machine see " +
				"them in the list of processes; give the address without them"))
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), wait)
		defer cancel()
		said, err := ask(ctx, address)
		if err != nil {
			return err
		}
		return a.Print(said + "\n")
	})
	return cmd
}

// ask returns the text of a response with status 200, and an error with the text of any other.
func ask(ctx context.Context, address string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", fmt.Errorf("asking %s: %w", address, err)
	}
	// Not the default client: a health check goes through no proxy, and a redirect is no readiness.
	client := http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	answer, err := client.Do(request)
	if err != nil {
		if errors.Is(err, syscall.ECONNREFUSED) {
			return "", fmt.Errorf("asking %s: nothing listens there (connection refused): check that the process runs "+
				"and was started with --listen", address)
		}
		return "", fmt.Errorf("asking: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<10))
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return "", fmt.Errorf("reading the answer of %s: %w", address, err)
	}
	said := terminal.Key(strings.TrimSpace(string(text)), 200)
	if answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s answers %s: %s", address, answer.Status, said)
	}
	return said, nil
}
