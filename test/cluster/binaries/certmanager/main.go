// Command certmanager contains cert-manager's controller, cainjector, webhook and startup check in one program.
//
// The name it is called by selects the component (there is a symbolic link for each), or else the first argument.
// Upstream's mains are separate modules that can't be required, so this program starts the components from
// cert-manager's library. It takes the flags of cert-manager's Helm chart, with upstream's names and defaults, so that
// the chart runs unchanged on an image of this program.
//
// Issuers of the kinds SelfSigned and CA work. ACME, Vault and Venafi aren't linked: they need the SDKs of every cloud,
// and no test can reach such a server. Their Issuers never get a status.
package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/cert-manager/cert-manager/pkg/util"
	"github.com/spf13/pflag"
)

const library = "github.com/cert-manager/cert-manager"

func main() {
	components := map[string]func(ctx context.Context, args []string) error{
		"controller":      serve("controller", newController),
		"cainjector":      serve("cainjector", newCAInjector),
		"webhook":         serve("webhook", newWebhook),
		"startupapicheck": checkAPI,
	}
	name, args := filepath.Base(os.Args[0]), os.Args[1:]
	start, ok := components[name]
	if !ok && len(args) > 0 {
		name, args = args[0], args[1:]
		start, ok = components[name]
	}
	if !ok {
		names := slices.Sorted(maps.Keys(components))
		fmt.Fprintf(os.Stderr, "call this binary by one of these names: %s\n", strings.Join(names, ", "))
		os.Exit(2)
	}
	util.AppVersion = libraryVersion()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	os.Exit(exitCode(ctx, name, start(ctx, args)))
}

// exitCode prints an error, if there is one. A stop by a signal isn't an error.
func exitCode(ctx context.Context, name string, err error) int {
	if err == nil || errors.Is(err, pflag.ErrHelp) || (ctx.Err() != nil && errors.Is(err, context.Canceled)) {
		return 0
	}
	fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
	return 1
}

// libraryVersion returns the version of cert-manager in go.mod. Without it, cert-manager's user agent would be
// "canary".
func libraryVersion() string {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == library {
			return module.Version
		}
	}
	return util.AppVersion
}
