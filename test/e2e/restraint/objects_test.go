package restraint

const (
	configMaps = "/api/v1/namespaces/" + namespace + "/configmaps"
	endpoints  = "/api/v1/namespaces/" + namespace + "/endpoints"
	secrets    = "/api/v1/namespaces/" + namespace + "/secrets"
	webhooks   = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"

	ledgerMarks = `labels: {app.kubernetes.io/name: svc-lb-mux, app.kubernetes.io/component: mux-state},
		annotations: {` + prefix + `/mux: ` + namespace + `/other, ` + prefix + `/generation: "1"}`
	endpointsMarks = `labels: {app.kubernetes.io/managed-by: svc-lb-mux, app.kubernetes.io/component: mux-endpoints, endpointslice.kubernetes.io/skip-mirror: "true"},
		annotations: {` + prefix + `/managed: "true", ` + prefix + `/mux: ` + namespace + `/other}`
)

// elsewhere is the configuration of keeper with another Service in it.
const elsewhere = `
webhooks:
- name: change.services.` + prefix + `
  sideEffects: None
  admissionReviewVersions: [v1]
  failurePolicy: Fail
  matchPolicy: Equivalent
  timeoutSeconds: 10
  clientConfig: {service: {name: mine, namespace: team, path: /validate, port: 443}}
  namespaceSelector: {}
  objectSelector: {}
  rules: [{apiGroups: [example.com], apiVersions: [v1], resources: [things], operations: [CREATE], scope: "*"}]
`

func ledgerAbuses() map[string]attempt {
	patch := func(name, body, want string) attempt {
		return attempt{do: "PATCH " + configMaps + "/" + name, body: body, want: want}
	}
	return map[string]attempt{
		"a ConfigMap of somebody's is written": patch("settings", `{data: {password: mine}}`, "ConfigMap svc-mux/settings: it is no ledger"),
		"a ConfigMap of somebody's becomes a ledger": patch("settings", `{metadata: {`+ledgerMarks+`}}`,
			"ConfigMap svc-mux/settings: it is no ledger"),
		"a ConfigMap of somebody's is deleted": {do: "DELETE " + configMaps + "/settings", want: "may not DELETE ConfigMap svc-mux/settings"},
		"the cluster's certificate is replaced": {do: "PATCH /api/v1/namespaces/team/configmaps/kube-root-ca.crt", body: `{data: {ca.crt: mine}}`,
			want: "ConfigMap team/kube-root-ca.crt: it is no ledger"},
		"a ConfigMap that is no ledger is made": {do: "POST " + configMaps, body: `{apiVersion: v1, kind: ConfigMap, metadata: {name: mine}, data: {a: b}}`,
			want: `as the ledger of ""`},
		"a ledger is made that holds more": {do: "POST " + configMaps,
			body: `{apiVersion: v1, kind: ConfigMap, metadata: {name: mine, ` + ledgerMarks + `}, data: {allocations.json: "{}", nginx.conf: mine}}`,
			want: "data of ConfigMap svc-mux/mine"},
		"a ledger is made where muxes aren't": {do: "POST /api/v1/namespaces/kube-system/configmaps",
			body: `{apiVersion: v1, kind: ConfigMap, metadata: {name: mine, ` + ledgerMarks + `}}`, want: "there are no muxes in namespace kube-system"},
		"a ledger is made for a mux elsewhere": {do: "POST /api/v1/namespaces/team/configmaps",
			body: `{apiVersion: v1, kind: ConfigMap, metadata: {name: mine, ` + ledgerMarks + `}}`, want: `as the ledger of "svc-mux/other"`},
		"a ledger becomes another mux's":       patch("mux-port-allocations", `{metadata: {annotations: {`+prefix+`/mux: `+namespace+`/other}}}`, `as the ledger of "svc-mux/other"`),
		"a ledger can't be seen any more":      patch("mux-port-allocations", `{metadata: {labels: {app.kubernetes.io/name: null}}}`, "a ledger has its labels"),
		"what others keep in a ledger":         patch("mux-port-allocations", `{data: {notes: mine}}`, "data of ConfigMap svc-mux/mux-port-allocations"),
		"a ledger isn't to be found any more":  patch("mux-port-allocations", `{metadata: {labels: {app.kubernetes.io/component: null}}}`, "a ledger has its labels"),
		"what others keep in a ledger, packed": patch("mux-port-allocations", `{binaryData: {theirs: aGk=}}`, "binaryData of ConfigMap"),
		"a ledger is owned, to be collected": patch("mux-port-allocations",
			`{metadata: {ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: none, uid: 00000000-0000-0000-0000-000000000009}]}}`, "ownerReferences of ConfigMap"),
		"a label of others goes off a ledger": patch("mux-port-allocations", `{metadata: {labels: {team: null}}}`,
			"the label team of ConfigMap svc-mux/mux-port-allocations: if another admission policy or webhook changed it, name its key in restraint.tolerate"),
		"a ledger gets another annotation of our prefix": patch("mux-port-allocations", `{metadata: {annotations: {`+prefix+`/multiplexer: "true"}}}`,
			"the annotation "+prefix+"/multiplexer of ConfigMap"),
		"a ledger is kept from going":       patch("mux-port-allocations", `{metadata: {finalizers: [example.com/mine]}}`, "finalizers of ConfigMap"),
		"a ledger can't be written anymore": patch("mux-port-allocations", `{immutable: true}`, "immutable of ConfigMap"),
	}
}

func ledgerUses() map[string]attempt {
	return map[string]attempt{
		"a ledger is made": {do: "POST " + configMaps, body: `{apiVersion: v1, kind: ConfigMap, metadata: {name: made, ` + ledgerMarks + `}, data: {allocations.json: "{}"}}`},
		"a large ledger is made": {do: "POST " + configMaps,
			body: `{apiVersion: v1, kind: ConfigMap, metadata: {name: made, ` + ledgerMarks + `}, binaryData: {allocations.json.gz: aGk=}}`},
		"a ledger is written": {do: "PATCH " + configMaps + "/mux-port-allocations",
			body: `{metadata: {annotations: {` + prefix + `/generation: "2"}}, data: {allocations.json: null}, binaryData: {allocations.json.gz: aGk=}}`},
		"a ledger goes": {do: "DELETE " + configMaps + "/mux-port-allocations"},
		"a ledger is made, and others add their labels and annotations": {do: "POST " + configMaps, body: `{apiVersion: v1, kind: ConfigMap,
			metadata: {name: made, labels: {app.kubernetes.io/name: svc-lb-mux, app.kubernetes.io/component: mux-state, app.kubernetes.io/part-of: shop},
			annotations: {` + prefix + `/mux: ` + namespace + `/other, ` + prefix + `/generation: "1", policies.kyverno.io/last-applied-patches: one}}}`},
		"a ledger is written, and others add and change their labels and annotations": {do: "PATCH " + configMaps + "/mux-port-allocations",
			body: `{metadata: {labels: {team: b, app.kubernetes.io/part-of: shop}, annotations: {a: b}}}`},
		"a label that is tolerated goes off a ledger": {as: tolerant, do: "PATCH " + configMaps + "/mux-port-allocations", body: `{metadata: {labels: {team: null}}}`},
	}
}

func endpointsAbuses() map[string]attempt {
	return map[string]attempt{
		"Endpoints of somebody's are rewritten":    {do: "PATCH " + endpoints + "/theirs", body: `{subsets: []}`, want: "Endpoints svc-mux/theirs: it is not what svc-lb-mux wrote"},
		"Endpoints of somebody's are deleted":      {do: "DELETE " + endpoints + "/theirs", want: "may not DELETE Endpoints svc-mux/theirs"},
		"the original's lead elsewhere":            {do: "PATCH " + endpoints + "/mux", body: `{metadata: {labels: {endpointslice.kubernetes.io/skip-mirror: "true"}}, subsets: []}`, want: "subsets of Endpoints svc-mux/mux"},
		"Endpoints that the original didn't label": {do: "DELETE " + endpoints + "/annotated", want: "may not DELETE Endpoints svc-mux/annotated"},
		"the original's get another annotation of our prefix": {do: "PATCH " + endpoints + "/mux", body: `{metadata: {labels: {endpointslice.kubernetes.io/skip-mirror: "true"}, annotations: {` + prefix + `/mux: x}}}`,
			want: "the annotation " + prefix + "/mux of Endpoints svc-mux/mux"},
		"Endpoints of ours say that they are somebody's": {as: legacy, do: "PATCH " + endpoints + "/mux",
			body: `{metadata: {labels: {endpointslice.kubernetes.io/skip-mirror: "true", app.kubernetes.io/managed-by: null}}}`, want: "without our marks"},
		"Endpoints of ours say that they are another mux's": {as: legacy, do: "PATCH " + endpoints + "/mux",
			body: `{metadata: {labels: {endpointslice.kubernetes.io/skip-mirror: "true"}, annotations: {` + prefix + `/mux: ` + namespace + `/other}}}`, want: "without our marks"},
		"the original's lose a label": {do: "PATCH " + endpoints + "/mux", body: `{metadata: {labels: {endpointslice.kubernetes.io/skip-mirror: "true", app.kubernetes.io/component: null}}}`,
			want: "the label app.kubernetes.io/component of Endpoints svc-mux/mux"},
		"the original's are mirrored on": {do: "PATCH " + endpoints + "/mux", body: `{metadata: {labels: {endpointslice.kubernetes.io/skip-mirror: "false"}}}`, want: "without the label endpointslice.kubernetes.io/skip-mirror"},
		"Endpoints are made": {as: wide, do: "POST " + endpoints, body: `{apiVersion: v1, kind: Endpoints, metadata: {name: other, ` + endpointsMarks + `}}`,
			want: "never asks to CREATE endpoints such as svc-mux/other"},
		"Endpoints are made for kube-dns": {as: legacy, do: "POST /api/v1/namespaces/kube-system/endpoints",
			body: `{apiVersion: v1, kind: Endpoints, metadata: {name: kube-dns, ` + endpointsMarks + `}}`, want: "there are no muxes in namespace kube-system"},
		"Endpoints are made to be mirrored": {as: legacy, do: "POST " + endpoints, body: `{apiVersion: v1, kind: Endpoints, metadata: {name: other}}`, want: "without our marks"},
		"Endpoints are made for another Service's ports": {as: legacy, do: "POST " + endpoints,
			body: `{apiVersion: v1, kind: Endpoints, metadata: {name: other, ` + endpointsMarks + `}, subsets: [{addresses: [{ip: 10.1.0.9}], ports: [{name: https, port: 443}]}]}`,
			want: "with ports that aren't named as a mux's are"},
		"Endpoints are made that are kept from going": {as: legacy, do: "POST " + endpoints,
			body: `{apiVersion: v1, kind: Endpoints, metadata: {name: other, finalizers: [example.com/mine], ` + endpointsMarks + `}}`, want: "finalizers of Endpoints"},
	}
}

func endpointsUses() map[string]attempt {
	return map[string]attempt{
		"the original's are mirrored no longer": {do: "PATCH " + endpoints + "/mux", body: `{metadata: {labels: {endpointslice.kubernetes.io/skip-mirror: "true"}}}`},
		"the original's are mirrored no longer, and others add their marks": {do: "PATCH " + endpoints + "/mux",
			body: `{metadata: {labels: {endpointslice.kubernetes.io/skip-mirror: "true", a: b}, annotations: {a: b}}}`},
		"the original's go": {do: "DELETE " + endpoints + "/mux"},
		"Endpoints are made for a mux": {as: legacy, do: "POST " + endpoints, body: `{apiVersion: v1, kind: Endpoints, metadata: {name: other, ` + endpointsMarks + `,
			ownerReferences: [{apiVersion: v1, kind: Service, name: other, uid: 00000000-0000-0000-0000-000000000001}]},
			subsets: [{addresses: [{ip: 10.1.0.9}], ports: [{name: 0123456789abcdef0123, port: 443}]}]}`},
		"the original's are written from now on": {as: legacy, do: "PATCH " + endpoints + "/mux", body: `{metadata: {labels: {endpointslice.kubernetes.io/skip-mirror: "true"}}, subsets: []}`},
	}
}

func certificateAbuses() map[string]attempt {
	secret := func(as, name, kind, want string) attempt {
		return attempt{as: as, do: "POST " + secrets, want: want,
			body: `{apiVersion: v1, kind: Secret, metadata: {name: ` + name + `}, type: ` + kind + `, data: {tls.crt: "", tls.key: ""}}`}
	}
	configuration := func(as, name, body, want string) attempt {
		return attempt{as: as, do: "PATCH " + webhooks + "/" + name, body: body, want: want}
	}
	return map[string]attempt{
		"a Secret is made":                      secret(wide, "mine", "Opaque", "never asks to CREATE secrets such as svc-mux/mine"),
		"a Secret is written":                   {as: wide, do: "PATCH " + secrets + "/password", body: `{data: {password: bWluZQ==}}`, want: "never asks to UPDATE secrets"},
		"a Secret is deleted":                   {as: keeper, do: "DELETE " + secrets + "/password", want: "never asks to DELETE secrets"},
		"a Secret of another name is made":      secret(keeper, "mine", "kubernetes.io/tls", "Secret svc-mux/mine of type kubernetes.io/tls"),
		"a Secret of another name is written":   {as: keeper, do: "PATCH " + secrets + "/password", body: `{data: {password: bWluZQ==}}`, want: "UPDATE Secret svc-mux/password of type Opaque"},
		"a Secret of another type is made":      secret(keeper, keeper+"-webhook-tls", "Opaque", "Secret svc-mux/"+keeper+"-webhook-tls of type Opaque"),
		"a Secret in another namespace is made": {as: keeper, do: "POST /api/v1/namespaces/team/secrets", want: "Secret team/" + keeper + "-webhook-tls", body: `{apiVersion: v1, kind: Secret, metadata: {name: ` + keeper + `-webhook-tls}, type: kubernetes.io/tls, data: {tls.crt: "", tls.key: ""}}`},
		"the webhook asks somebody else":        configuration(wide, usual+"."+namespace, `{webhooks: []}`, "never asks to UPDATE validatingwebhookconfigurations"),
		"a configuration of somebody's":         configuration(keeper, usual+"."+namespace, `{webhooks: []}`, "UPDATE validatingwebhookconfigurations "+usual+"."+namespace),
		"no webhook is asked any more":          configuration(keeper, keeper+"."+namespace, `{webhooks: []}`, "webhooks of ValidatingWebhookConfiguration"),
		"the webhook asks elsewhere":            configuration(keeper, keeper+"."+namespace, elsewhere, "webhooks of ValidatingWebhookConfiguration"),
		"a webhook that changes, too":           {as: keeper, do: "PATCH /apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/" + keeper + "." + namespace, body: `{webhooks: []}`, want: "UPDATE mutatingwebhookconfigurations"},
		"the configuration is labelled":         configuration(keeper, keeper+"."+namespace, `{metadata: {labels: {a: b}}}`, "metadata of ValidatingWebhookConfiguration"),
		"the configuration is deleted while its namespace lives": {as: wide, do: "DELETE " + webhooks + "/" + wide + "." + namespace,
			want: "may not DELETE validatingwebhookconfigurations " + wide + "." + namespace + " while namespace " + namespace + " lives"},
		"another's configuration is deleted":     {as: keeper, do: "DELETE " + webhooks + "/" + usual + "." + namespace, want: " DELETE validatingwebhookconfigurations"},
		"a configuration is made":                {as: keeper, do: "POST " + webhooks, body: `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: mine}}`, want: "never asks to CREATE validatingwebhookconfigurations"},
		"the webhook that changes, too, is made": {as: keeper, do: "POST /apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", body: `{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, metadata: {name: mine}}`, want: "never asks to CREATE mutatingwebhookconfigurations"},
	}
}
