package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	logf "github.com/cert-manager/cert-manager/pkg/logs"
	"github.com/cert-manager/cert-manager/pkg/util/feature"
	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"
	logsapi "k8s.io/component-base/logs/api/v1"
	ctrl "sigs.k8s.io/controller-runtime"
)

// component is a long-running program of cert-manager, with its settings in a configuration object.
type component interface {
	// addFlags binds all flags except --config to the configuration. Present values become the flags' defaults.
	addFlags(flags *pflag.FlagSet)
	// readFile applies a configuration file to the configuration.
	readFile(path string) error
	common() common
	run(ctx context.Context) error
}

// common holds settings of the process, not of a component.
type common struct {
	logging *logsapi.LoggingConfiguration
	gates   *map[string]bool
}

func serve[C component](name string, create func() (C, error)) func(context.Context, []string) error {
	return func(ctx context.Context, args []string) error {
		c, err := create()
		if err != nil {
			return err
		}
		if err := configure(name, c, args); err != nil {
			return err
		}
		logf.InitLogs()
		defer logf.FlushLogs()
		if err := logf.ValidateAndApply(c.common().logging); err != nil {
			return err
		}
		if err := feature.DefaultMutableFeatureGate.SetFromMap(*c.common().gates); err != nil {
			return fmt.Errorf("--feature-gates: %w", err)
		}
		log := logf.Log.WithName(name)
		ctrl.SetLogger(log)
		return c.run(logf.NewContext(ctx, log))
	}
}

// configure fills the configuration in order: defaults, the file that --config names, and flags. Flags are parsed a
// first time to find the file. The second parse uses a new flag set: otherwise lists would get each value twice.
func configure(name string, c component, args []string) error {
	path, err := parse(name, c, args)
	if err != nil || path == "" {
		return err
	}
	if err := c.readFile(path); err != nil {
		return fmt.Errorf("--config %s: %w", path, err)
	}
	_, err = parse(name, c, args)
	return err
}

func (c common) addFlags(flags *pflag.FlagSet) {
	logf.AddFlags(c.logging, flags)
	flags.Var(cliflag.NewMapStringBool(c.gates), "feature-gates", "key=value pairs, of:\n"+
		strings.Join(feature.DefaultFeatureGate.KnownFeatures(), "\n"))
}

func parse(name string, c component, args []string) (configFile string, err error) {
	flags := pflag.NewFlagSet(name, pflag.ContinueOnError)
	flags.SetOutput(os.Stdout) // only --help prints; errors are returned
	flags.SetNormalizeFunc(cliflag.WordSepNormalizeFunc)
	flags.StringVar(&configFile, "config", "", "file with the component's configuration object; flags win over it")
	c.addFlags(flags)
	if err := flags.Parse(args); err != nil {
		return "", err
	}
	if flags.NArg() > 0 {
		return "", fmt.Errorf("unexpected argument %q: use flags only, see --help", flags.Arg(0))
	}
	return configFile, nil
}
