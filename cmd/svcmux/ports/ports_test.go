package ports

import (
	"testing"

	"nowake.ai/svc-lb-mux/cmd/svcmux/look/looktest"
)

func TestGoldenPorts(t *testing.T) { looktest.Stories(t, Command) }
