package main

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails tests that leave anything running.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
