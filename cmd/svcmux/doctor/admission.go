package doctor

import (
	"fmt"

	discoveryv1 "k8s.io/api/discovery/v1"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
)

// configurations has the fields of ValidatingWebhookConfigurations that are checked.
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

// admission checks that the API server calls the webhook, and that the webhook has ready endpoints.
func (e *examination) admission() {
	var all configurations
	if _, err := e.cluster.JSON(e.ctx, "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
		&all); err != nil {
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
		e.add("admission", Failure, "no ValidatingWebhookConfiguration has the webhook "+cli.Shown(name),
			"install the chart, or choose another prefix with --prefix")
	}
}

func (e *examination) hook(configuration string, h *hook) {
	at := "ValidatingWebhookConfiguration " + cli.Shown(configuration)
	const restore = "restore the configuration with helm upgrade"
	switch {
	case len(h.ClientConfig.CABundle) == 0:
		e.add("admission", Failure, at+" has no caBundle, so the API server can't trust the webhook",
			"docs/certificates.md names the writer of the caBundle: check it")
	case h.FailurePolicy != "Fail":
		e.add("admission", Warning, at+" has failurePolicy "+cli.Shown(h.FailurePolicy)+
			": while the webhook is down, mistakes are accepted", restore)
	case len(h.NamespaceSelector.MatchLabels)+len(h.NamespaceSelector.MatchExpressions) > 0:
		e.add("admission", Warning, at+" has a namespaceSelector: Services of some namespaces aren't checked", restore)
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
		e.add("endpoints", Failure, "the "+at+" of the webhook has no ready endpoint: muxes and channels can't be changed",
			"see why the webhook's pods aren't ready")
	default:
		e.add("endpoints", OK, fmt.Sprintf("the %s has %s", at, cli.Count(ready, "ready endpoint")), "")
	}
}

// readyOf counts the ready endpoints of a Service.
func (e *examination) readyOf(namespace, name string) (int, error) {
	ready := 0
	_, err := e.cluster.EachSlice(e.ctx, namespace, discoveryv1.LabelServiceName+"="+name,
		func(slice *discoveryv1.EndpointSlice) {
			for i := range slice.Endpoints {
				if is := slice.Endpoints[i].Conditions.Ready; is == nil || *is {
					ready++
				}
			}
		})
	return ready, err
}
