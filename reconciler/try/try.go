// Package try checks an installation by using it: a bad Service must be refused, and a new channel must get a port and
// an address. After the channel is deleted, its port must disappear from the mux.
package try

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/validation"
)

// Options are the inputs of a trial. A trial needs only the rights to read the mux, and to create, read and delete
// Services in Namespace.
type Options struct {
	Language  validation.Language
	Client    client.Client
	Mux       types.NamespacedName
	Namespace string
	// Patience limits each wait.
	Patience time.Duration
	// Report receives the progress for users.
	Report io.Writer
}

// Run returns nil if the installation works, else an error with the fault and where to look.
func Run(ctx context.Context, options Options) error {
	t := &trial{options}
	if err := t.checkMux(ctx); err != nil {
		return err
	}
	if err := t.expectRefusal(ctx); err != nil {
		return err
	}
	return t.tryChannel(ctx)
}

type trial struct{ Options }

func (t *trial) reportf(format string, args ...any) { fmt.Fprintf(t.Report, format+"\n", args...) }

// checkMux checks that the mux exists and has a range for auto ports.
func (t *trial) checkMux(ctx context.Context) error {
	svc, err := t.get(ctx, t.Mux)
	if err != nil {
		return err
	}
	if svc == nil {
		return fmt.Errorf("there is no mux %s: create it, or try another one", t.Mux)
	}
	if !t.Language.Classify(svc).Mux() {
		return fmt.Errorf("the Service %s is no mux: set %s on it, or try another one", t.Mux, t.Language.Keys().Multiplexer)
	}
	parsed, found := t.Language.ParseMux(svc)
	if len(found.Problems) > 0 {
		return fmt.Errorf("mux %s has a mistake, and is frozen until that is corrected: %s", t.Mux, found.Problems[0].Message)
	}
	if parsed.Auto.Len() == 0 {
		return fmt.Errorf("the mux %s has no range for the channel's port: set %s on it, such as 20000-20099, "+
			"or try another one", t.Mux, t.Language.Keys().PortRange)
	}
	return nil
}

// expectRefusal checks that admission refuses a bad channel. It is a dry run, so nothing is stored even if admission is
// off guard.
func (t *trial) expectRefusal(ctx context.Context) error {
	bad := t.service()
	bad.Spec.Ports[0].Name = ""
	delete(bad.Annotations, t.Language.Keys().ExternalPorts)
	why := t.webhookText(bad)
	err := t.Client.Create(ctx, bad, client.DryRunAll)
	switch {
	case err == nil:
		return errors.New("a channel whose port has no name was accepted: admission isn't on guard; look at the " +
			"ValidatingWebhookConfiguration, its caBundle, and the webhook's pods")
	case strings.Contains(err.Error(), why), strings.Contains(err.Error(), t.policyText(bad)):
		t.reportf("admission is on guard: a bad channel is refused: %s", why)
		return nil
	}
	return fmt.Errorf("svc-lb-mux should have refused a channel whose port has no name; the answer was: %w", err)
}

// policyText returns the message of the chart's ValidatingAdmissionPolicy for the same mistake. If the policy is
// enabled, it answers before the webhook.
func (t *trial) policyText(bad *corev1.Service) string {
	port := bad.Spec.Ports[0]
	return fmt.Sprintf("port %q has no name", fmt.Sprintf("%d/TCP", port.Port))
}

// webhookText returns the webhook's message for a port without a name, without the field at its start.
func (t *trial) webhookText(bad *corev1.Service) string {
	_, found := t.Language.ParseChannel(bad)
	if len(found.Problems) == 0 { // can't happen: unnamed ports are refused
		return "has no name"
	}
	return strings.TrimPrefix(found.Problems[0].Message, found.Problems[0].Field+": ")
}

// service returns a channel without a selector: connections to it find no backend.
func (t *trial) service() *corev1.Service {
	class, no := t.Language.FormatClass(t.Mux), false
	if t.Mux.Namespace == t.Language.DefaultMuxNamespace() {
		class = t.Language.Prefix() + "/" + t.Mux.Name // without the namespace, the mux's name may be longer
	}
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: t.Namespace, GenerateName: "svc-lb-mux-try-",
			Annotations: map[string]string{t.Language.Keys().ExternalPorts: "try:auto"},
		},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: &class, AllocateLoadBalancerNodePorts: &no,
			Ports: []corev1.ServicePort{{Name: "try", Port: 80}},
		},
	}
}

// get returns the Service, or nil if it doesn't exist.
func (t *trial) get(ctx context.Context, key types.NamespacedName) (*corev1.Service, error) {
	var svc corev1.Service
	err := t.Client.Get(ctx, key, &svc)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read Service %s: %w", key, err)
	}
	return &svc, nil
}
