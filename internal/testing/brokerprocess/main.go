// Brokerprocess is the embedded broker as a process: it prints its address, and ends with its
// input. Tests of other modules start it, which do not have what the broker depends on.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/tollgate-dp/tollgate/internal/kafka/embedded"
)

func main() {
	b, err := embedded.Start(embedded.Options{})
	if err != nil {
		fmt.Fprintf(os.Stderr, "error: %v\n", err)
		os.Exit(1)
	}
	defer b.Close()
	fmt.Println(b.Addr())
	_, _ = io.Copy(io.Discard, os.Stdin) // until it is closed, with the process that started this one
}
