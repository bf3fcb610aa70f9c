package doctor

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
)

// configurations are ValidatingWebhookConfigurations, as far as they matter here.
type configurations struct {
	Items []struct {
		Metadata struct{ Name string }
		Webhooks []hook
	}
}

type hook struct {
	Name              string
	FailurePolicy     string
	NamespaceSelector struct {
		MatchLabels      map[string]string
		MatchExpressions []any
	}
	ClientConfig struct {
		CABundle []byte
		Service  struct{ Namespace, Name string }
	}
}

// admission checks that the API server asks the webhook, and that it answers.
func (e *examination) admission() {
	var all configurations
	if _, err := e.cluster.JSON(e.ctx, "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", &all); err != nil {
		e.failed("admission", "ValidatingWebhookConfigurations", err)
		return
	}
	name, found := "change.services."+e.ask.Language.Prefix(), 0
	for _, configuration := range all.Items {
		for i := range configuration.Webhooks {
			if h := &configuration.Webhooks[i]; h.Name == name {
				found++
				e.hook(configuration.Metadata.Name, h)
			}
		}
	}
	if found == 0 {
		e.add("admission", Failure, "no ValidatingWebhookConfiguration has the webhook "+cli.Shown(name), "install the chart, or choose another prefix with --prefix")
	}
}

func (e *examination) hook(configuration string, h *hook) {
	at := "ValidatingWebhookConfiguration " + cli.Shown(configuration)
	const restore = "restore the configuration with helm upgrade"
	switch {
	case len(h.ClientConfig.CABundle) == 0:
		e.add("admission", Failure, at+" has no caBundle, so the API server can't trust the webhook", "see whether cert-manager's cainjector runs, and docs/certificates.md")
	case h.FailurePolicy != "Fail":
		e.add("admission", Warning, at+" has failurePolicy "+cli.Shown(h.FailurePolicy)+": while the webhook is down, mistakes pass", restore)
	case len(h.NamespaceSelector.MatchLabels)+len(h.NamespaceSelector.MatchExpressions) > 0:
		e.add("admission", Warning, at+" has a namespaceSelector: Services of some namespaces aren't judged", restore)
	default:
		e.add("admission", OK, at+" is on guard: failurePolicy Fail, all namespaces", "")
	}
	e.authority(at, h.ClientConfig.CABundle)
	e.endpoints(h.ClientConfig.Service.Namespace, h.ClientConfig.Service.Name)
}

// endpoints checks that the Service of the webhook has ready endpoints.
func (e *examination) endpoints(namespace, name string) {
	at := "Service " + cli.Shown(namespace+"/"+name)
	ready, err := e.readyOf(namespace, name)
	switch {
	case err != nil:
		e.failed("endpoints", "EndpointSlices of the "+at, err)
	case ready == 0:
		e.add("endpoints", Failure, "the "+at+" of the webhook has no ready endpoint: muxes and channels can't be changed", "see why the webhook's pods aren't ready")
	default:
		e.add("endpoints", OK, fmt.Sprintf("the %s has %s", at, cli.Count(ready, "ready endpoint")), "")
	}
}

// readyOf counts the ready endpoints of a Service.
func (e *examination) readyOf(namespace, name string) (int, error) {
	ready := 0
	_, err := e.cluster.EachSlice(e.ctx, namespace, discoveryv1.LabelServiceName+"="+name, func(slice *discoveryv1.EndpointSlice) {
		for i := range slice.Endpoints {
			if is := slice.Endpoints[i].Conditions.Ready; is == nil || *is {
				ready++
			}
		}
	})
	return ready, err
}

// soonOver is how long before its end a certificate is a warning. cert-manager renews at a third of its life.
const soonOver = 7 * 24 * time.Hour

// authority checks the certificates of a caBundle.
func (e *examination) authority(at string, bundle []byte) {
	var last time.Time
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		if certificate, err := x509.ParseCertificate(block.Bytes); err == nil && certificate.NotAfter.After(last) {
			last = certificate.NotAfter
		}
	}
	if !last.IsZero() {
		e.expiry("authority", "the CA in "+at, last)
	}
}

func (e *examination) expiry(name, what string, end time.Time) {
	left := end.Sub(e.now)
	const wayOut = "see docs/certificates.md"
	switch {
	case left <= 0:
		e.add(name, Failure, what+" expired "+cli.Age(-left)+" ago", wayOut)
	case left < soonOver:
		e.add(name, Warning, what+" expires in "+cli.Age(left), wayOut)
	default:
		e.add(name, OK, what+" is valid for "+cli.Age(left), "")
	}
}

// certificate checks the webhook's Certificate of cert-manager. Secrets aren't read.
func (e *examination) certificate() {
	for _, d := range e.find(webhook) {
		var all struct {
			Items []struct {
				Metadata struct{ Name string }
				Spec     struct{ IsCA bool }
				Status   struct{ NotAfter *time.Time }
			}
		}
		found, err := e.cluster.JSON(e.ctx, "/apis/cert-manager.io/v1/namespaces/"+d.Namespace+"/certificates", &all)
		if err != nil {
			e.failed("certificate", "Certificates of namespace "+cli.Shown(d.Namespace), err)
			continue
		}
		checked := false
		for _, c := range all.Items {
			if !c.Spec.IsCA && strings.HasPrefix(c.Metadata.Name, d.Name) && c.Status.NotAfter != nil {
				checked = true
				e.expiry("certificate", "Certificate "+cli.Shown(d.Namespace+"/"+c.Metadata.Name), *c.Status.NotAfter)
			}
		}
		if !found || !checked {
			e.add("certificate", Unknown, "no issued Certificate of cert-manager was found in "+cli.Shown(d.Namespace)+", and Secrets aren't read", "the console shows the days that are left")
		}
	}
}
