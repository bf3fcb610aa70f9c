package run

import (
	"errors"
	"flag"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// OnceOptions are the settings of one-time tasks, which replace the reconciler's usual work.
type OnceOptions struct {
	// Drain removes ports, slices and addresses, and ends.
	Drain bool
	// TryChannel is the mux, as name or name.namespace, on which a channel is tried.
	TryChannel string
	// Patience limits the waits: of a drain, for the lease and for failing writes; of a tried channel, until it is
	// programmed.
	Patience time.Duration
}

func defaultOnceOptions() OnceOptions { return OnceOptions{Patience: time.Minute} }

func (o *OnceOptions) addFlags(set *flag.FlagSet) {
	set.BoolVar(&o.Drain, "drain", o.Drain,
		"remove ports, slices and addresses from all muxes and channels, and end; ledgers stay, to give the same numbers "+
			"after a reinstall")
	set.StringVar(&o.TryChannel, "try-channel", o.TryChannel,
		"create a channel of the `mux` NAME or NAME.NAMESPACE in --namespace, wait until it is programmed, "+
			"delete it, and end")
	set.DurationVar(&o.Patience, "patience", o.Patience,
		"`time` that --drain waits for the lease and retries failing writes, and that --try-channel waits for its channel")
}

func (o *Options) checkOnce() error {
	var errs []error
	if o.TryChannel != "" {
		if _, ok := o.tryMux(); !ok {
			errs = append(errs, fmt.Errorf("--try-channel %q names no mux: write its name, or NAME.NAMESPACE, such as mux.%s",
				o.TryChannel, o.Namespace))
		}
		if o.Drain || o.DryRun.Yes() {
			errs = append(errs, errors.New("--try-channel makes a channel and waits for it: leave out --drain and --dry-run"))
		}
	}
	if o.Patience <= 0 {
		errs = append(errs, fmt.Errorf("--patience %s: write a time to wait, such as 1m", o.Patience))
	}
	return errors.Join(errs...)
}

// tryMux returns the mux on which a channel is tried, and false if TryChannel can't name one. It returns true if the
// prefix is bad, which another check reports.
func (o *Options) tryMux() (types.NamespacedName, bool) {
	language, err := o.language()
	if err != nil {
		return types.NamespacedName{}, true
	}
	return language.ParseClass(language.Prefix() + "/" + o.TryChannel)
}
