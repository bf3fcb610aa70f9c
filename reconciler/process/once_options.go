package process

import (
	"errors"
	"flag"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// OnceOptions are about what is done once, in place of looking after muxes.
type OnceOptions struct {
	// Drain takes ports, slices and addresses away, and ends.
	Drain bool
	// TryChannel is the mux, by name or name.namespace, that a channel is tried on.
	TryChannel string
	// Patience bounds the wait for what somebody else must do: let go of the lease, program a channel.
	Patience time.Duration
}

func defaultOnceOptions() OnceOptions { return OnceOptions{Patience: time.Minute} }

func (o *OnceOptions) addFlags(set *flag.FlagSet) {
	set.BoolVar(&o.Drain, "drain", o.Drain,
		"take ports, slices and addresses off all muxes and channels, and end; ledgers stay, so that numbers come back")
	set.StringVar(&o.TryChannel, "try-channel", o.TryChannel,
		"make a channel of the `mux` NAME or NAME.NAMESPACE in --namespace, wait until it is programmed, take it away, and end")
	set.DurationVar(&o.Patience, "patience", o.Patience,
		"`time` that --drain waits for the lease, and for a write that fails; and --try-channel for its channel")
}

func (o *Options) checkOnce() error {
	var errs []error
	if o.TryChannel != "" {
		if _, ok := o.tried(); !ok {
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

// tried is the mux that a channel is tried on; false if what was said can be none, or the prefix is bad, which is told
// elsewhere.
func (o *Options) tried() (types.NamespacedName, bool) {
	language, err := o.language()
	if err != nil {
		return types.NamespacedName{}, true
	}
	return language.ParseClass(language.Prefix() + "/" + o.TryChannel)
}
