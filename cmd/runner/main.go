// Command runner is the program tollgate: go build -o tollgate ./cmd/runner. Package
// internal/app/commands defines its commands, and documents their output and exit codes.
package main

import (
	"os"

	"github.com/tollgate-dp/tollgate/internal/app/commands"
	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
)

// A release sets version and revision with -ldflags "-X main.version=v1.2.3 -X main.revision=…".
var version, revision string

func main() { os.Exit(commands.Main(command.Release{Version: version, Revision: revision}, os.Exit)) }
