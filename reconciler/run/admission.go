package run

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
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"nowake.ai/svc-lb-mux/certs/follow"
	"nowake.ai/svc-lb-mux/certs/guard"
	"nowake.ai/svc-lb-mux/certs/selfmanaged"
	"nowake.ai/svc-lb-mux/validation/flags"
)

// AdmissionOptions are the settings for checking the webhook, and for its self-managed certificate.
type AdmissionOptions struct {
	// WebhookConfiguration is the name of the ValidatingWebhookConfiguration to check. If it is empty, admission isn't
	// checked.
	WebhookConfiguration string
	// Certificates are the names of cert-manager's Certificates to check, separated by commas. They are in the
	// process's namespace.
	Certificates string
	// SelfManagedSecret is the name of the Secret for the self-managed certificate, in the process's namespace.
	SelfManagedSecret string
	// SelfManagedCA and SelfManagedLife are the lifetimes of the authority and of the certificate. SelfManagedRenew is
	// how long before its end the certificate is renewed.
	SelfManagedCA, SelfManagedLife, SelfManagedRenew time.Duration
}

func defaultAdmissionOptions() AdmissionOptions {
	policy := selfmanaged.DefaultPolicy()
	return AdmissionOptions{SelfManagedCA: policy.Authority, SelfManagedLife: policy.Leaf, SelfManagedRenew: policy.Renew}
}

func (o *AdmissionOptions) addFlags(set *flag.FlagSet) {
	set.StringVar(&o.WebhookConfiguration, "webhook-configuration", o.WebhookConfiguration,
		"`name` of the ValidatingWebhookConfiguration, to check that admission is on guard; if empty, it isn't checked")
	set.StringVar(&o.Certificates, "certificates", o.Certificates,
		"`names` of the webhook's cert-manager Certificates to check, in the process's own namespace, separated by commas")
	set.StringVar(&o.SelfManagedSecret, "self-managed-secret", o.SelfManagedSecret,
		"`name` of the Secret for a self-managed webhook certificate, in the process's own namespace; if empty, the "+
			"certificate isn't self-managed")
	span := func(to *time.Duration, name, usage string) { set.DurationVar(to, name, *to, usage) }
	span(&o.SelfManagedCA, "self-managed-ca-duration",
		"lifetime (a `time`) of the CA that signs the self-managed certificate")
	span(&o.SelfManagedLife, "self-managed-duration", "lifetime (a `time`) of the self-managed certificate")
	span(&o.SelfManagedRenew, "self-managed-renew-before",
		"`time` before its end at which the self-managed certificate is renewed")
}

func (o *AdmissionOptions) check() error {
	switch {
	case o.WebhookConfiguration != "" && o.SelfManagedSecret != "":
		return o.checkLives()
	case o.WebhookConfiguration != "":
		return nil
	case o.Certificates != "":
		return errors.New("--certificates is set, but --webhook-configuration is empty: " +
			"name the configuration of that webhook")
	case o.SelfManagedSecret != "":
		return errors.New("--self-managed-secret is set, but --webhook-configuration is empty: name the configuration that " +
			"gets the CA bundle")
	}
	return nil
}

// checkLives requires lifetimes long enough for a kubelet to update files, and for an operator to fix a failed renewal.
func (o *AdmissionOptions) checkLives() error {
	const least, soonest = time.Hour, 5 * time.Minute
	var errs []error
	if o.SelfManagedLife < least {
		errs = append(errs, fmt.Errorf("--self-managed-duration %s is too short: write %s or more", o.SelfManagedLife, least))
	}
	if o.SelfManagedRenew < soonest {
		errs = append(errs, fmt.Errorf("--self-managed-renew-before %s is too short: write %s or more", o.SelfManagedRenew,
			soonest))
	}
	if err := o.policy().Check(); err != nil {
		errs = append(errs, fmt.Errorf("--self-managed-ca-duration, --self-managed-duration and "+
			"--self-managed-renew-before don't fit together: %w", err))
	}
	return errors.Join(errs...)
}

func (o *AdmissionOptions) policy() selfmanaged.Policy {
	policy := selfmanaged.DefaultPolicy()
	policy.Authority, policy.Leaf, policy.Renew = o.SelfManagedCA, o.SelfManagedLife, o.SelfManagedRenew
	return policy
}

// addGuard adds the check of admission to the manager, and returns it; nil if it is off. It doesn't use the manager's
// cache, and doesn't wait for it.
func (p Process) addGuard(m manager.Manager, registry *prometheus.Registry, leads func() bool,
	keeper *selfmanaged.Keeper,
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

// readinessChecks returns the checks of readiness besides the caches. If this process checks admission, it is ready
// once bad muxes and channels are refused. There is one exception: while a process waits for a predecessor, it is ready
// without its self-managed certificate. The rollout ends the predecessor only when this process is ready.
func readinessChecks(watching *guard.Guard, earlier *predecessors, keepsCertificate bool) []func() error {
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

// certificateKeeper returns the keeper of the webhook's certificate, which runs while this process leads; nil if
// certificates aren't self-managed.
func (p Process) certificateKeeper(log logr.Logger) (*selfmanaged.Keeper, error) {
	if p.Options.WebhookConfiguration == "" || p.Options.SelfManagedSecret == "" || p.dry() {
		return nil, nil
	}
	api, err := follow.NewClient(rest.CopyConfig(p.Config))
	if err != nil {
		return nil, err
	}
	policy := p.SelfManaged
	if policy == (selfmanaged.Policy{}) {
		policy = p.Options.policy()
	}
	return selfmanaged.New(selfmanaged.Options{
		Client: api, Configuration: p.Options.WebhookConfiguration,
		Secret: types.NamespacedName{Namespace: p.Options.Namespace, Name: p.Options.SelfManagedSecret},
		Policy: policy, Now: p.Now, Log: log.WithName("certificate"),
	}), nil
}
