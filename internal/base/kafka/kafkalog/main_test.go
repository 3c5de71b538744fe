package kafkalog

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/tollgate-dp/tollgate/internal/testing/await"
)

func TestMain(m *testing.M) {
	if err := await.AtOnce(8); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}
