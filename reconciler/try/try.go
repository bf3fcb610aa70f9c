// Package try finds out whether an installation works, by using it as anybody does: a Service that can't work is
// refused, and a channel gets a port of a mux, an address, and both are gone once it is.
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

// Options are what a trial needs. It asks for no more rights than to read the mux, and to create, read and delete
// Services in Namespace.
type Options struct {
	Language  validation.Language
	Client    client.Client
	Mux       types.NamespacedName
	Namespace string
	// Patience bounds each wait.
	Patience time.Duration
	// Report is for people.
	Report io.Writer
}

// Run returns nil if all is as it should be, and else says what isn't, and what to look at.
func Run(ctx context.Context, options Options) error {
	t := &trial{options}
	if err := t.checkMux(ctx); err != nil {
		return err
	}
	if err := t.expectRefusal(ctx); err != nil {
		return err
	}
	return t.attach(ctx)
}

type trial struct{ Options }

func (t *trial) say(format string, args ...any) { fmt.Fprintf(t.Report, format+"\n", args...) }

// checkMux sees to it that there is a mux which picks numbers itself.
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
		return fmt.Errorf("mux %s has a mistake, and is frozen until it is mended: %s", t.Mux, found.Problems[0].Message)
	}
	if parsed.Auto.Len() == 0 {
		return fmt.Errorf("the mux %s has no range that the channel's port could come from: set %s on it, such as 20000-20099, "+
			"or try another one", t.Mux, t.Language.Keys().PortRange)
	}
	return nil
}

// expectRefusal proves that admission is on guard. Nothing is stored, whoever is.
func (t *trial) expectRefusal(ctx context.Context) error {
	bad := t.service()
	bad.Spec.Ports[0].Name = ""
	delete(bad.Annotations, t.Language.Keys().ExternalPorts)
	why := t.unnamed(bad)
	err := t.Client.Create(ctx, bad, client.DryRunAll)
	switch {
	case err == nil:
		return errors.New("a channel whose port has no name was accepted: admission isn't on guard; look at the " +
			"ValidatingWebhookConfiguration, its caBundle, and the webhook's pods")
	case strings.Contains(err.Error(), why), strings.Contains(err.Error(), t.byPolicy(bad)):
		t.say("admission is on guard: a bad channel is refused: %s", why)
		return nil
	}
	return fmt.Errorf("a channel whose port has no name was to be refused by svc-lb-mux, and this came instead: %w", err)
}

// byPolicy is what the chart's ValidatingAdmissionPolicy says of the same, where it is on: it answers first.
func (t *trial) byPolicy(bad *corev1.Service) string {
	port := bad.Spec.Ports[0]
	return fmt.Sprintf("port %q has no name", fmt.Sprintf("%d/TCP", port.Port))
}

// unnamed is what is said of a port without a name, whoever puts its field before it.
func (t *trial) unnamed(bad *corev1.Service) string {
	_, found := t.Language.ParseChannel(bad)
	if len(found.Problems) == 0 { // which it is for: it is one of the rules
		return "has no name"
	}
	return strings.TrimPrefix(found.Problems[0].Message, found.Problems[0].Field+": ")
}

// service is a channel that has no backends: who asks it gets no answer, and is nobody.
func (t *trial) service() *corev1.Service {
	class, no := t.Language.FormatClass(t.Mux), false
	if t.Mux.Namespace == t.Language.DefaultMuxNamespace() {
		class = t.Language.Prefix() + "/" + t.Mux.Name // which may be longer that way
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

// get returns nil if there is no such Service.
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
