package restraint

const (
	mux      = "PATCH /api/v1/namespaces/" + namespace + "/services/mux"
	web      = "PATCH /api/v1/namespaces/team/services/web"
	former   = "PATCH /api/v1/namespaces/team/services/former"
	stranger = "PATCH /api/v1/namespaces/team/services/stranger"
	kubeDNS  = "PATCH /api/v1/namespaces/kube-system/services/kube-dns"
)

func serviceAbuses() map[string]attempt {
	return map[string]attempt{
		"another selector": {do: kubeDNS, body: `{spec: {selector: {app: mine}}}`,
			want: "spec.selector of Service kube-system/kube-dns"},
		"a selector on a mux": {do: mux, body: `{spec: {selector: {app: mine}}}`,
			want: "spec.selector of Service svc-mux/mux, which is a mux"},
		"another selector on a channel": {do: web, body: `{spec: {selector: {app: mine}}}`,
			want: "spec.selector of Service team/web, which is a channel"},
		"the ports of a stranger": {do: stranger, body: `{spec: {ports: [{name: https, port: 444}]}}`,
			want: "spec.ports of Service team/stranger"},
		"the ports of a channel": {do: web, body: `{spec: {ports: [{name: http, port: 81}]}}`,
			want: "spec.ports of Service team/web"},
		"an external IP on a mux": {do: mux, body: `{spec: {externalIPs: [192.0.2.1]}}`,
			want: "spec.externalIPs of Service svc-mux/mux"},
		"an external IP on a stranger": {do: stranger, body: `{spec: {externalIPs: [192.0.2.1]}}`,
			want: "spec.externalIPs of Service team/stranger"},
		"another external name": {do: kubeDNS,
			body: `{spec: {type: ExternalName, externalName: evil.example.com, clusterIP: "", clusterIPs: null, ` +
				`selector: null}}`,
			want: "spec.externalName"},
		"another type of a mux": {do: mux, body: `{spec: {type: ClusterIP, allocateLoadBalancerNodePorts: null}}`,
			want: "spec.type"},
		"other source ranges": {do: mux, body: `{spec: {loadBalancerSourceRanges: [0.0.0.0/0]}}`,
			want: "spec.loadBalancerSourceRanges"},
		"the ports and the traffic policy of a mux": {do: mux,
			body: `{spec: {ports: [{name: 0123456789abcdef0123, port: 20000}], externalTrafficPolicy: Local}}`,
			want: "spec.externalTrafficPolicy"},
		"the ports of a mux in kube-system": {do: "PATCH /api/v1/namespaces/kube-system/services/mux",
			body: `{spec: {ports: [{name: 0123456789abcdef0123, port: 20000}]}}`,
			want: "spec.ports of Service kube-system/mux, which is neither"},
		"the ports of a mux in an unserved namespace": {as: narrow, do: "PATCH /api/v1/namespaces/team/services/mux/status",
			body: `{metadata: {annotations: {` + prefix + `/generation: "2"}}}`, want: prefix +
				"/generation of Service team/mux, which is neither"},

		"making a stranger a mux": {do: stranger,
			body: `{metadata: {annotations: {` + prefix + `/multiplexer: "true"}}, spec: {ports: [{name: https, port: 444}]}}`,
			want: "spec.ports of Service team/stranger"},
		"making a stranger a mux through its status": {do: stranger + "/status",
			body: `{metadata: {annotations: {` + prefix + `/multiplexer: "true"}}}`,
			want: "the annotation " + prefix + "/multiplexer of Service team/stranger"},
		"allowing other namespaces on a mux": {do: mux,
			body: `{metadata: {annotations: {` + prefix + `/allowed-namespaces: "*"}}}`,
			want: "the annotation " + prefix + "/allowed-namespaces of Service svc-mux/mux"},
		"another ledger for a mux through its status": {do: mux + "/status",
			body: `{metadata: {annotations: {` + prefix + `/allocation-configmap: settings}}}`,
			want: "the annotation " + prefix + "/allocation-configmap"},
		"removing the mux annotation": {do: mux, body: `{metadata: {annotations: {` + prefix + `/multiplexer: null}}}`,
			want: "the annotation " + prefix + "/multiplexer"},
		"a ports annotation on a stranger": {do: stranger + "/status",
			body: `{metadata: {annotations: {` + prefix + `/ports: "https:443->20000"}}}`,
			want: "the annotation " + prefix + "/ports of Service team/stranger"},
		"a DNS name on a stranger": {do: stranger + "/status",
			body: `{metadata: {annotations: {external-dns.alpha.kubernetes.io/hostname: bank.example.com}}}`,
			want: "external-dns.alpha.kubernetes.io/hostname of Service team/stranger"},
		"another request of a channel": {do: web + "/status",
			body: `{metadata: {annotations: {` + prefix + `/external-ports: "http:443"}}}`,
			want: prefix + "/external-ports of Service team/web"},
		"another annotation for a provider": {do: mux,
			body: `{metadata: {annotations: {service.beta.kubernetes.io/aws-load-balancer-internal: "false"}}}`,
			want: "aws-load-balancer-internal"},
		"removing a foreign annotation": {do: stranger + "/status", body: `{metadata: {annotations: {theirs: null}}}`,
			want: "the annotation theirs of Service team/stranger"},
		"adding an annotation of the original's framework": {do: web + "/status",
			body: `{metadata: {annotations: {kopf.zalando.org/KopfFinalizerMarker: x}}}`,
			want: "the annotation kopf.zalando.org/KopfFinalizerMarker"},

		"a label on a Service": {do: kubeDNS + "/status", body: `{metadata: {labels: {team: mine}}}`,
			want: "the label team of Service kube-system/kube-dns"},
		"a tolerated label on another Service": {as: tolerant, do: kubeDNS + "/status",
			body: `{metadata: {labels: {team: mine}}}`,
			want: "the label team of Service kube-system/kube-dns"},
		"a tolerated annotation on another Service": {as: tolerant, do: stranger + "/status",
			body: `{metadata: {annotations: {policies.kyverno.io/last-applied-patches: mine}}}`,
			want: "of Service team/stranger"},
		"removing a label from a mux": {do: mux, body: `{metadata: {labels: {team: null}}}`,
			want: "the label team of Service svc-mux/mux, which is a mux: if another admission policy or webhook changed it, " +
				"name its key in restraint.tolerate of the chart"},
		"changing a label of a mux": {do: mux, body: `{metadata: {labels: {team: b}}}`,
			want: "the label team of Service svc-mux/mux"},
		"a label that makes kube-proxy skip a channel": {do: web + "/status",
			body: `{metadata: {labels: {service.kubernetes.io/service-proxy-name: mine}}}`,
			want: "the label service.kubernetes.io/service-proxy-name of Service team/web"},
		"a Kubernetes label on a mux": {do: mux, body: `{metadata: {labels: {app.kubernetes.io/part-of: shop}}}`,
			want: "the label app.kubernetes.io/part-of of Service svc-mux/mux"},
		"a label with our prefix on a mux": {as: tolerant, do: mux,
			body: `{metadata: {labels: {` + prefix + `/multiplexer: "true"}}}`,
			want: "the label " + prefix + "/multiplexer of Service svc-mux/mux"},
		"a foreign annotation on a mux": {do: mux,
			body: `{metadata: {annotations: {policies.kyverno.io/last-applied-patches: mine}}}`,
			want: "the annotation policies.kyverno.io/last-applied-patches of Service svc-mux/mux, which is a mux: if another " +
				"admission policy or webhook changed it, name its key in restraint.tolerate of the chart"},
		"an owner reference on a Service": {do: stranger + "/status",
			body: `{metadata: {ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: none, ` +
				`uid: 00000000-0000-0000-0000-000000000009}]}}`,
			want: "metadata.ownerReferences of Service team/stranger"},
		"a finalizer on a Service": {do: kubeDNS + "/status", body: `{metadata: {finalizers: [example.com/mine]}}`,
			want: "the finalizers [] of Service kube-system/kube-dns"},
		"adding the original's finalizer": {do: stranger + "/status",
			body: `{metadata: {finalizers: [` + prefix + `/finalizer]}}`,
			want: "into [" + prefix + "/finalizer]"},
		"removing a foreign finalizer": {do: web + "/status", body: `{metadata: {finalizers: [` + prefix + `/finalizer]}}`,
			want: "the finalizers [" + prefix + "/finalizer, example.com/theirs] of Service team/web"},

		"removing all finalizers": {do: web + "/status", body: `{metadata: {finalizers: []}}`,
			want: "of Service team/web, which is a channel into []"},

		"an address on a stranger": {do: stranger + "/status",
			body: `{status: {loadBalancer: {ingress: [{ip: 192.0.2.1, ipMode: Proxy}]}}}`,
			want: "the address in status.loadBalancer of Service team/stranger"},
		"an address on a mux": {do: mux + "/status",
			body: `{status: {loadBalancer: {ingress: [{ip: 192.0.2.1, ipMode: Proxy}]}}}`,
			want: "the address in status.loadBalancer of Service svc-mux/mux"},
		"an address without mode Proxy": {do: web + "/status",
			body: `{status: {loadBalancer: {ingress: [{ip: 10.96.0.10}]}}}`,
			want: "10.96.0.10 with ipMode VIP"},
		"one of two addresses without mode Proxy": {do: web + "/status",
			body: `{status: {loadBalancer: {ingress: [{ip: 192.0.2.1, ipMode: Proxy}, {ip: 10.96.0.10, ipMode: VIP}]}}}`,
			want: "10.96.0.10 with ipMode VIP"},
		"an address with ports": {do: web + "/status",
			body: `{status: {loadBalancer: {ingress: [{ip: 192.0.2.1, ipMode: Proxy, ports: [{port: 1, protocol: TCP}]}]}}}`,
			want: "and no ports"},
		"a foreign condition": {do: web + "/status", body: `{status: {conditions: [` + condition("example.com/Ready") + `]}}`,
			want: "the condition example.com/Ready of Service team/web"},
		"a condition of ours on a stranger": {do: stranger + "/status",
			body: `{status: {conditions: [` + condition(prefix+"/Accepted") + `]}}`,
			want: "the condition " + prefix + "/Accepted of Service team/stranger"},
		"a condition of ours on a mux": {do: mux + "/status",
			body: `{status: {conditions: [` + condition(prefix+"/Accepted") + `]}}`,
			want: "the condition " + prefix + "/Accepted of Service svc-mux/mux"},

		"creating a Service": {as: wide, do: "POST /api/v1/namespaces/team/services",
			body: `{apiVersion: v1, kind: Service, metadata: {name: mine}, spec: {ports: [{port: 80}]}}`,
			want: "never asks to CREATE services such as team/mine"},
		"deleting a Service": {as: wide, do: "DELETE /api/v1/namespaces/kube-system/services/kube-dns",
			want: "never asks to DELETE services such as kube-system/kube-dns"},
		"another selector, with a role that grants everything": {as: wide, do: kubeDNS,
			body: `{spec: {selector: {app: mine}}}`,
			want: "spec.selector of Service kube-system/kube-dns"},
	}
}

func serviceUses() map[string]attempt {
	return map[string]attempt{
		"ports and notes of a mux": {do: mux,
			body: `{spec: {ports: [{name: 0123456789abcdef0123, port: 20000}, {name: abcdef0, port: 53, protocol: UDP}]},
			metadata: {annotations: {` + prefix + `/generation: "2", ` + prefix + `/ledger: "mux-port-allocations",
				` + prefix + `/channels: '["team/web"]', ` + prefix + `/topology: web, ` + prefix + `/summary: one,
			` + prefix +
				`/aggregated-external-dns: null, external-dns.alpha.kubernetes.io/hostname: null, ` +
				`external-dns.alpha.kubernetes.io/cloudflare-proxied: "true"}}}`},
		"removing the original's annotations from a mux": {do: mux,
			body: `{metadata: {finalizers: [example.com/theirs], ` +
				`annotations: {kopf.zalando.org/last-handled-configuration: null}}}`},
		"removing the original's annotations through the mux's status": {do: mux + "/status",
			body: `{metadata: {finalizers: [example.com/theirs], ` +
				`annotations: {kopf.zalando.org/last-handled-configuration: null}}}`},
		"address, conditions and annotation of a channel": {do: web + "/status",
			body: `{metadata: {annotations: {` + prefix + `/ports: "http:80->20001"}},
			status: {loadBalancer: {ingress: [{ip: 192.0.2.1, ipMode: Proxy}, {hostname: lb.example.com}]},
				conditions: [` + condition(prefix+"/Accepted") + `]}}`},
		"cleaning a channel": {do: web + "/status",
			body: `{metadata: {annotations: {` + prefix + `/ports: null, kopf.zalando.org/last-handled-configuration: null},
			finalizers: [example.com/theirs]}, status: {loadBalancer: {ingress: null}, conditions: []}}`},
		"others add a label to a mux": {do: mux,
			body: `{metadata: {labels: {cost-center: "7", example.com/tier: edge}}}`},
		"others add a label to a channel": {do: web + "/status", body: `{metadata: {labels: {cost-center: "7"}}}`},
		"others add a label to a former channel": {do: former + "/status",
			body: `{metadata: {labels: {cost-center: "7"}, annotations: {` + prefix + `/ports: null}}}`},
		"others change a tolerated key on a mux": {as: tolerant, do: mux,
			body: `{metadata: {labels: {team: b, app.kubernetes.io/part-of: shop}, ` +
				`annotations: {policies.kyverno.io/last-applied-patches: one}}}`},
		"others change a tolerated key on a channel": {as: tolerant, do: web + "/status",
			body: `{metadata: {labels: {team: b, app.kubernetes.io/part-of: shop}, ` +
				`annotations: {policies.kyverno.io/last-applied-patches: one}}}`},
		"cleaning a former channel": {do: former + "/status",
			body: `{metadata: {annotations: {` + prefix + `/ports: null}}, status: {conditions: []}}`},
		"a write that changes nothing": {do: kubeDNS + "/status", body: `{metadata: {labels: {}}}`},
		"ports of a mux in the served namespace": {as: narrow, do: mux,
			body: `{spec: {ports: [{name: 0123456789abcdef0123, port: 20000}]}, metadata: {annotations: {` + prefix +
				`/generation: "2"}}}`},
	}
}

func condition(kind string) string {
	return `{type: ` + kind + `, status: "True", reason: Tried, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}`
}
