package serve

import (
	"context"
	_ "embed"
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

//go:embed probe.txt
var probeHelp string

func Probe(a *command.App) *cobra.Command {
	var (
		address string
		wait    time.Duration
	)
	return a.New("probe", probeHelp, func(cmd *cobra.Command) {
		cmd.Flags().StringVar(&address, "url", "http://localhost:9464/-/ready", "")
		command.DurationFlag(cmd.Flags(), &wait, "timeout", 5*time.Second, "")
	}, func(cmd *cobra.Command) error {
		if wait <= 0 {
			return command.Must("timeout", "above 0")
		}
		u, err := url.Parse(address)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return command.Must("url", "an address like http://localhost:9464/-/ready")
		}
		if u.User != nil {
			return command.Usage(errors.New("--url contains a user or a password, which other users of this machine " +
				"can see in the list of processes: give the address without them"))
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), wait)
		defer cancel()
		text, err := ask(ctx, address)
		if err != nil {
			return err
		}
		return a.Print(text + "\n")
	})
}

// ask returns the text of a response with status 200; any other status is an error with its text.
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
	response, err := client.Do(request)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return "", fmt.Errorf("asking %s: nothing listens there (connection refused): check that the process runs "+
			"and was started with --listen", address)
	}
	if err != nil {
		return "", fmt.Errorf("asking: %w", err)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<10))
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return "", fmt.Errorf("reading the response of %s: %w", address, err)
	}
	text := terminal.Key(strings.TrimSpace(string(body)), 200)
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s responds %s: %s", address, response.Status, text)
	}
	return text, nil
}
