package explain

import (
	"testing"

	"nowake.ai/svc-lb-mux/cmd/svcmux/look/looktest"
)

func TestGoldenExplanations(t *testing.T) { looktest.Stories(t, Command) }
