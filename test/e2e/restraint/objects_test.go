package restraint

const (
	configMaps = "/api/v1/namespaces/" + namespace + "/configmaps"
	endpoints  = "/api/v1/namespaces/" + namespace + "/endpoints"
	secrets    = "/api/v1/namespaces/" + namespace + "/secrets"
	webhooks   = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"

	ledgerMarks = `labels: {app.kubernetes.io/name: svc-lb-mux, app.kubernetes.io/component: mux-state},
		annotations: {` + prefix + `/mux: ` + namespace + `/other, ` + prefix + `/generation: "1"}`
	endpointsMarks = `labels: {app.kubernetes.io/managed-by: svc-lb-mux, app.kubernetes.io/component: mux-endpoints,
		endpointslice.kubernetes.io/skip-mirror: "true"},
		annotations: {` + prefix + `/managed: "true", ` + prefix + `/mux: ` + namespace + `/other}`
)

// elsewhere is keeper's configuration with another Service.
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
		"a write of a foreign ConfigMap": patch("settings", `{data: {password: mine}}`,
			"ConfigMap svc-mux/settings: it is no ledger"),
		"making a foreign ConfigMap a ledger": patch("settings", `{metadata: {`+ledgerMarks+`}}`,
			"ConfigMap svc-mux/settings: it is no ledger"),
		"the deletion of a foreign ConfigMap": {do: "DELETE " + configMaps + "/settings",
			want: "may not DELETE ConfigMap svc-mux/settings"},
		"replacing the cluster's CA certificate": {do: "PATCH /api/v1/namespaces/team/configmaps/kube-root-ca.crt",
			body: `{data: {ca.crt: mine}}`,
			want: "ConfigMap team/kube-root-ca.crt: it is no ledger"},
		"creating a ConfigMap that isn't a ledger": {do: "POST " + configMaps,
			body: `{apiVersion: v1, kind: ConfigMap, metadata: {name: mine}, data: {a: b}}`,
			want: `as the ledger of ""`},
		"a ledger with further data": {do: "POST " + configMaps,
			body: `{apiVersion: v1, kind: ConfigMap, metadata: {name: mine, ` + ledgerMarks +
				`}, data: {allocations.json: "{}", nginx.conf: mine}}`,
			want: "data of ConfigMap svc-mux/mine"},
		"a ledger in a namespace without muxes": {do: "POST /api/v1/namespaces/kube-system/configmaps",
			body: `{apiVersion: v1, kind: ConfigMap, metadata: {name: mine, ` + ledgerMarks + `}}`,
			want: "there are no muxes in namespace kube-system"},
		"a ledger for a mux in another namespace": {do: "POST /api/v1/namespaces/team/configmaps",
			body: `{apiVersion: v1, kind: ConfigMap, metadata: {name: mine, ` + ledgerMarks + `}}`,
			want: `as the ledger of "svc-mux/other"`},
		"giving a ledger to another mux": patch("mux-port-allocations",
			`{metadata: {annotations: {`+prefix+`/mux: `+namespace+`/other}}}`, `as the ledger of "svc-mux/other"`),
		"removing a ledger's name label": patch("mux-port-allocations",
			`{metadata: {labels: {app.kubernetes.io/name: null}}}`, "a ledger has its labels"),
		"data of others in a ledger": patch("mux-port-allocations", `{data: {notes: mine}}`,
			"data of ConfigMap svc-mux/mux-port-allocations"),
		"removing a ledger's component label": patch("mux-port-allocations",
			`{metadata: {labels: {app.kubernetes.io/component: null}}}`, "a ledger has its labels"),
		"binary data of others in a ledger": patch("mux-port-allocations", `{binaryData: {theirs: aGk=}}`,
			"binaryData of ConfigMap"),
		"an owner reference on a ledger": patch("mux-port-allocations",
			`{metadata: {ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: none, `+
				`uid: 00000000-0000-0000-0000-000000000009}]}}`, "ownerReferences of ConfigMap"),
		"removing others' label from a ledger": patch("mux-port-allocations", `{metadata: {labels: {team: null}}}`,
			"the label team of ConfigMap svc-mux/mux-port-allocations: if another admission policy or webhook changed it, "+
				"name its key in restraint.tolerate"),
		"a ledger gets another annotation of our prefix": patch("mux-port-allocations",
			`{metadata: {annotations: {`+prefix+`/multiplexer: "true"}}}`,
			"the annotation "+prefix+"/multiplexer of ConfigMap"),
		"a finalizer on a ledger": patch("mux-port-allocations", `{metadata: {finalizers: [example.com/mine]}}`,
			"finalizers of ConfigMap"),
		"an immutable ledger": patch("mux-port-allocations", `{immutable: true}`, "immutable of ConfigMap"),
	}
}

func ledgerUses() map[string]attempt {
	return map[string]attempt{
		"creating a ledger": {do: "POST " + configMaps,
			body: `{apiVersion: v1, kind: ConfigMap, metadata: {name: made, ` + ledgerMarks +
				`}, data: {allocations.json: "{}"}}`},
		"creating a large ledger": {do: "POST " + configMaps,
			body: `{apiVersion: v1, kind: ConfigMap, metadata: {name: made, ` + ledgerMarks +
				`}, binaryData: {allocations.json.gz: aGk=}}`},
		"writing a ledger": {do: "PATCH " + configMaps + "/mux-port-allocations",
			body: `{metadata: {annotations: {` + prefix +
				`/generation: "2"}}, data: {allocations.json: null}, binaryData: {allocations.json.gz: aGk=}}`},
		"deleting a ledger": {do: "DELETE " + configMaps + "/mux-port-allocations"},
		"creating a ledger to which others add labels and annotations": {do: "POST " + configMaps,
			body: `{apiVersion: v1, kind: ConfigMap,
			metadata: {name: made, labels: {app.kubernetes.io/name: svc-lb-mux, app.kubernetes.io/component: mux-state,
				app.kubernetes.io/part-of: shop},
			annotations: {` + prefix + `/mux: ` + namespace + `/other, ` + prefix + `/generation: "1",
				policies.kyverno.io/last-applied-patches: one}}}`},
		"writing a ledger on which others add and change labels and annotations": {do: "PATCH " + configMaps +
			"/mux-port-allocations",
			body: `{metadata: {labels: {team: b, app.kubernetes.io/part-of: shop}, annotations: {a: b}}}`},
		"removing a tolerated label from a ledger": {as: tolerant, do: "PATCH " + configMaps + "/mux-port-allocations",
			body: `{metadata: {labels: {team: null}}}`},
	}
}

func endpointsAbuses() map[string]attempt {
	return map[string]attempt{
		"a write of foreign Endpoints": {do: "PATCH " + endpoints + "/theirs", body: `{subsets: []}`,
			want: "Endpoints svc-mux/theirs: it is not what svc-lb-mux wrote"},
		"the deletion of foreign Endpoints": {do: "DELETE " + endpoints + "/theirs",
			want: "may not DELETE Endpoints svc-mux/theirs"},
		"other addresses in the original's": {do: "PATCH " +
			endpoints + "/mux", body: `{metadata: {labels: {endpointslice.kubernetes.io/skip-mirror: "true"}}, subsets: []}`,
			want: "subsets of Endpoints svc-mux/mux"},
		"Endpoints without the original's label": {do: "DELETE " + endpoints + "/annotated",
			want: "may not DELETE Endpoints svc-mux/annotated"},
		"the original's get another annotation of our prefix": {do: "PATCH " + endpoints + "/mux",
			body: `{metadata: {labels: {endpointslice.kubernetes.io/skip-mirror: "true"}, annotations: {` + prefix +
				`/mux: x}}}`,
			want: "the annotation " + prefix + "/mux of Endpoints svc-mux/mux"},
		"changing our marks on Endpoints": {do: "PATCH " + endpoints + "/mux",
			body: `{metadata: {labels: {endpointslice.kubernetes.io/skip-mirror: "true", app.kubernetes.io/managed-by: mine}}}`,
			want: "without our marks"},
		"removing a label from the original's": {do: "PATCH " + endpoints + "/mux",
			body: `{metadata: {labels: {endpointslice.kubernetes.io/skip-mirror: "true", app.kubernetes.io/component: null}}}`,
			want: "the label app.kubernetes.io/component of Endpoints svc-mux/mux"},
		"the original's stay mirrored": {do: "PATCH " +
			endpoints + "/mux", body: `{metadata: {labels: {endpointslice.kubernetes.io/skip-mirror: "false"}}}`,
			want: "without the label endpointslice.kubernetes.io/skip-mirror"},
		"creating Endpoints": {as: wide, do: "POST " + endpoints,
			body: `{apiVersion: v1, kind: Endpoints, metadata: {name: other, ` + endpointsMarks + `}}`,
			want: "never asks to CREATE endpoints such as svc-mux/other"},
	}
}

func endpointsUses() map[string]attempt {
	return map[string]attempt{
		"excluding the original's from mirroring": {do: "PATCH " + endpoints + "/mux",
			body: `{metadata: {labels: {endpointslice.kubernetes.io/skip-mirror: "true"}}}`},
		"excluding the original's from mirroring while others add keys": {do: "PATCH " + endpoints + "/mux",
			body: `{metadata: {labels: {endpointslice.kubernetes.io/skip-mirror: "true", a: b}, annotations: {a: b}}}`},
		"deleting the original's": {do: "DELETE " + endpoints + "/mux"},
	}
}

func certificateAbuses() map[string]attempt {
	secret := func(as, name, kind, want string) attempt {
		return attempt{as: as, do: "POST " + secrets, want: want,
			body: `{apiVersion: v1, kind: Secret, metadata: {name: ` + name + `}, type: ` + kind +
				`, data: {tls.crt: "", tls.key: ""}}`}
	}
	configuration := func(as, name, body, want string) attempt {
		return attempt{as: as, do: "PATCH " + webhooks + "/" + name, body: body, want: want}
	}
	return map[string]attempt{
		"creating a Secret": secret(wide, "mine", "Opaque", "never asks to CREATE secrets such as "+
			"svc-mux/mine"),
		"writing a Secret": {as: wide, do: "PATCH " + secrets + "/password", body: `{data: {password: bWluZQ==}}`,
			want: "never asks to UPDATE secrets"},
		"deleting a Secret": {as: keeper, do: "DELETE " + secrets + "/password", want: "never asks to " +
			"DELETE secrets"},
		"creating a Secret of another name": secret(keeper, "mine", "kubernetes.io/tls",
			"Secret svc-mux/mine of type kubernetes.io/tls"),
		"writing a Secret of another name": {as: keeper, do: "PATCH " + secrets + "/password",
			body: `{data: {password: bWluZQ==}}`, want: "UPDATE Secret svc-mux/password of type Opaque"},
		"creating a Secret of another type": secret(keeper, keeper+"-webhook-tls", "Opaque",
			"Secret svc-mux/"+keeper+"-webhook-tls of type Opaque"),
		"creating a Secret elsewhere": {as: keeper, do: "POST /api/v1/namespaces/team/secrets",
			want: "Secret team/" + keeper + "-webhook-tls", body: `{apiVersion: v1, kind: Secret, metadata: {name: ` + keeper +
				`-webhook-tls}, type: kubernetes.io/tls, data: {tls.crt: "", tls.key: ""}}`},
		"changing a webhook's configuration": configuration(wide, usual+"."+namespace, `{webhooks: []}`,
			"never asks to UPDATE validatingwebhookconfigurations"),
		"changing a foreign configuration": configuration(keeper, usual+"."+namespace, `{webhooks: []}`,
			"UPDATE validatingwebhookconfigurations "+usual+"."+namespace),
		"removing all webhooks": configuration(keeper, keeper+"."+namespace, `{webhooks: []}`,
			"webhooks of ValidatingWebhookConfiguration"),
		"another Service for the webhook": configuration(keeper, keeper+"."+namespace, elsewhere,
			"webhooks of ValidatingWebhookConfiguration"),
		"a mutating configuration": {as: keeper,
			do:   "PATCH /apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/" + keeper + "." + namespace,
			body: `{webhooks: []}`, want: "UPDATE mutatingwebhookconfigurations"},
		"a label on the configuration": configuration(keeper, keeper+"."+namespace, `{metadata: {labels: {a: b}}}`,
			"metadata of ValidatingWebhookConfiguration"),
		"deleting the configuration while its namespace exists": {as: wide,
			do: "DELETE " + webhooks + "/" + wide + "." + namespace,
			want: "may not DELETE validatingwebhookconfigurations " + wide + "." + namespace + " while namespace " + namespace +
				" lives"},
		"deleting a foreign configuration": {as: keeper, do: "DELETE " + webhooks + "/" + usual + "." + namespace,
			want: " DELETE validatingwebhookconfigurations"},
		"creating a configuration": {as: keeper, do: "POST " + webhooks,
			body: `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: mine}}`,
			want: "never asks to CREATE validatingwebhookconfigurations"},
		"creating a mutating configuration": {as: keeper,
			do:   "POST /apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
			body: `{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, metadata: {name: mine}}`,
			want: "never asks to CREATE mutatingwebhookconfigurations"},
	}
}
