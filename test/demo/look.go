package main

import (
	"context"
	"os"
	"path/filepath"
)

// linkCommandLine puts svcmux beside kubectl, for the commands that the demo prints.
func (s *show) linkCommandLine() error {
	return os.Symlink(filepath.Join(s.scratch, "svcmux"), filepath.Join(s.cluster.BinDir(), "svcmux"))
}

// look shows the cluster as the command line sees it.
func (s *show) look(ctx context.Context) error {
	s.heading("The same by svcmux, the command line")
	for _, command := range []string{"svcmux status", "svcmux ports", "svcmux explain shop/web"} {
		if err := s.typed(ctx, command); err != nil {
			return err
		}
	}
	return nil
}
