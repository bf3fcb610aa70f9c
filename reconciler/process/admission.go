package process

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"nowake.ai/svc-lb-mux/certs/follow"
	"nowake.ai/svc-lb-mux/certs/guard"
	"nowake.ai/svc-lb-mux/certs/selfmanaged"
	"nowake.ai/svc-lb-mux/validation/flags"
)

// AdmissionOptions are about the webhook, which this process watches, and whose certificate it may keep.
type AdmissionOptions struct {
	// WebhookConfiguration is the name of the ValidatingWebhookConfiguration that the guard watches admission through;
	// without it there is no guard.
	WebhookConfiguration string
	// Certificates are the names of cert-manager's, in the process's namespace, that the guard follows, separated by
	// commas.
	Certificates string
	// SelfManagedSecret is the name of the Secret, in the process's namespace, that it keeps the webhook's certificate in.
	SelfManagedSecret string
	// SelfManagedCA and SelfManagedLife are for how long its authority and it are good, SelfManagedRenew is how long before its
	// end it is renewed.
	SelfManagedCA, SelfManagedLife, SelfManagedRenew time.Duration
}

func defaultAdmissionOptions() AdmissionOptions {
	policy := selfmanaged.DefaultPolicy()
	return AdmissionOptions{SelfManagedCA: policy.Authority, SelfManagedLife: policy.Leaf, SelfManagedRenew: policy.Renew}
}

func (o *AdmissionOptions) addFlags(set *flag.FlagSet) {
	set.StringVar(&o.WebhookConfiguration, "webhook-configuration", o.WebhookConfiguration,
		"`name` of the ValidatingWebhookConfiguration through which to watch that admission is on guard; if empty, nobody does")
	set.StringVar(&o.Certificates, "certificates", o.Certificates,
		"`names` of cert-manager's Certificates for it, in the process's own namespace, separated by commas")
	set.StringVar(&o.SelfManagedSecret, "self-managed-secret", o.SelfManagedSecret,
		"`name` of the Secret, in the process's own namespace, to keep the webhook's certificate in; if empty, somebody else does")
	span := func(to *time.Duration, name, usage string) { set.DurationVar(to, name, *to, usage) }
	span(&o.SelfManagedCA, "self-managed-ca-duration", "`time` for which the authority is good that signs that certificate")
	span(&o.SelfManagedLife, "self-managed-duration", "`time` for which that certificate is good")
	span(&o.SelfManagedRenew, "self-managed-renew-before", "`time` before its end at which it is renewed")
}

func (o *AdmissionOptions) check() error {
	switch {
	case o.WebhookConfiguration != "" && o.SelfManagedSecret != "":
		return o.checkLives()
	case o.WebhookConfiguration != "":
		return nil
	case o.Certificates != "":
		return errors.New("--certificates is given, and --webhook-configuration is empty: name the configuration that they are for")
	case o.SelfManagedSecret != "":
		return errors.New("--self-managed-secret is given, and --webhook-configuration is empty: name the configuration whose CA " +
			"bundle is to be kept")
	}
	return nil
}

// checkLives asks for as much time as a kubelet, and somebody who mends what keeps it from being renewed, may need.
func (o *AdmissionOptions) checkLives() error {
	const least, soonest = time.Hour, 5 * time.Minute
	var errs []error
	if o.SelfManagedLife < least {
		errs = append(errs, fmt.Errorf("--self-managed-duration %s is too short: write %s or more", o.SelfManagedLife, least))
	}
	if o.SelfManagedRenew < soonest {
		errs = append(errs, fmt.Errorf("--self-managed-renew-before %s is too short: write %s or more", o.SelfManagedRenew, soonest))
	}
	if err := o.policy().Check(); err != nil {
		errs = append(errs, fmt.Errorf("--self-managed-ca-duration, --self-managed-duration and --self-managed-renew-before don't fit "+
			"together: %w", err))
	}
	return errors.Join(errs...)
}

func (o *AdmissionOptions) policy() selfmanaged.Policy {
	policy := selfmanaged.DefaultPolicy()
	policy.Authority, policy.Leaf, policy.Renew = o.SelfManagedCA, o.SelfManagedLife, o.SelfManagedRenew
	return policy
}

// guardAdmission adds what looks after admission to the manager, and returns what knows how it is; nil if nothing was
// asked for. None of it uses the manager's cache, nor waits for it.
func (p Process) guardAdmission(m manager.Manager, registry *prometheus.Registry, leads func() bool, keeper *selfmanaged.Keeper,
	events record.EventRecorder) (*guard.Guard, error) {
	o := &p.Options
	if o.WebhookConfiguration == "" {
		return nil, nil
	}
	api, err := follow.NewClient(rest.CopyConfig(p.Config))
	if err != nil {
		return nil, err
	}
	options := guard.Options{
		Client: api, Dial: p.Dial, Configuration: o.WebhookConfiguration, Namespace: o.Namespace,
		Certificates: flags.List(o.Certificates), SelfManagedSecret: o.SelfManagedSecret,
		Leading: leads, Events: events, Metrics: registry, Now: p.Now,
	}
	if options.Dial == nil {
		options.Dial = (&net.Dialer{}).DialContext
	}
	if keeper != nil {
		options.Kept = keeper.Failure
	}
	watching := guard.New(options)
	return watching, m.Add(watching)
}

// readyOf is what readiness depends on beside the caches. If this process watches admission, it is ready once bad muxes and
// channels are refused. But a process that waits for a predecessor is ready before it has made the webhook's certificate:
// the rollout ends the predecessor only when this process is ready.
func readyOf(watching *guard.Guard, earlier *predecessors, keepsCertificate bool) []func() error {
	checks := []func() error{earlier.ready}
	if watching != nil {
		checks = append(checks, func() error {
			if keepsCertificate && earlier.waiting.Load() {
				return nil
			}
			return watching.Status().Ready()
		})
	}
	return checks
}

// certificateKeeper keeps the webhook's certificate while this process leads; nil if another program does.
func (p Process) certificateKeeper(log logr.Logger) (*selfmanaged.Keeper, error) {
	if p.Options.WebhookConfiguration == "" || p.Options.SelfManagedSecret == "" || p.dry() {
		return nil, nil
	}
	api, err := follow.NewClient(rest.CopyConfig(p.Config))
	if err != nil {
		return nil, err
	}
	return p.keeper(api, log), nil
}

func (p Process) keeper(api client.WithWatch, log logr.Logger) *selfmanaged.Keeper {
	policy := p.SelfManaged
	if policy == (selfmanaged.Policy{}) {
		policy = p.Options.policy()
	}
	return selfmanaged.New(selfmanaged.Options{
		Client: api, Configuration: p.Options.WebhookConfiguration,
		Secret: types.NamespacedName{Namespace: p.Options.Namespace, Name: p.Options.SelfManagedSecret},
		Policy: policy, Now: p.Now, Log: log.WithName("certificate"),
	})
}
