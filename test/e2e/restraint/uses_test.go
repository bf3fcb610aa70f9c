package restraint

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// certificateUses are the two writes of a reconciler that manages the certificate itself. A merge patch replaces whole
// lists.
func certificateUses(t *testing.T, w *world) map[string]attempt {
	name := keeper + "." + namespace
	made, err := w.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), name,
		metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range made.Webhooks {
		made.Webhooks[i].ClientConfig.CABundle = []byte("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n")
	}
	list, err := json.Marshal(made.Webhooks)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]attempt{
		"writing the Secret": {as: keeper, do: "PATCH " + secrets + "/" + keeper + "-webhook-tls",
			body: `{data: {tls.crt: aGk=, tls.key: aGk=}}`},
		"writing the CA bundle": {as: keeper, do: "PATCH " + webhooks + "/" + name, body: `{webhooks: ` + string(list) + `}`},
	}
}

// hugeUses are writes of the largest possible objects. An API server limits the cost of an expression, and denies
// requests that exceed it.
func hugeUses(*testing.T, *world) map[string]attempt {
	const manyPorts = 9000
	var ports, addresses strings.Builder
	for i := range manyPorts {
		fmt.Fprintf(&ports, "{name: p%019d, port: %d},", i, 20000+i)
	}
	for i := range 1000 {
		fmt.Fprintf(&addresses, "{addresses: [10.2.%d.%d], nodeName: node-%d},", i/250, i%250, i)
	}
	return map[string]attempt{
		"a mux of thousands of ports": {do: mux, body: `{spec: {ports: [` + ports.String() + `]}}`},
		"a slice of the largest size": {do: "PATCH " + slices + namespace + "/endpointslices/ours",
			body: `{endpoints: [` + addresses.String() + `]}`},
		"a ledger of nearly a mebibyte": {do: "PATCH " + configMaps + "/mux-port-allocations",
			body: `{data: {allocations.json: "` + strings.Repeat("x", 900<<10) + `"}}`},
	}
}
