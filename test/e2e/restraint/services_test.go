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
		"a selector is pointed elsewhere": {do: kubeDNS, body: `{spec: {selector: {app: mine}}}`,
			want: "spec.selector of Service kube-system/kube-dns"},
		"a mux is given a selector": {do: mux, body: `{spec: {selector: {app: mine}}}`,
			want: "spec.selector of Service svc-mux/mux, which is a mux"},
		"a channel's backends are others": {do: web, body: `{spec: {selector: {app: mine}}}`,
			want: "spec.selector of Service team/web, which is a channel"},
		"the ports of a stranger": {do: stranger, body: `{spec: {ports: [{name: https, port: 444}]}}`,
			want: "spec.ports of Service team/stranger"},
		"the ports of a channel": {do: web, body: `{spec: {ports: [{name: http, port: 81}]}}`,
			want: "spec.ports of Service team/web"},
		"the address of another machine is claimed by a mux": {do: mux, body: `{spec: {externalIPs: [192.0.2.1]}}`,
			want: "spec.externalIPs of Service svc-mux/mux"},
		"the address of another machine is claimed by a stranger": {do: stranger, body: `{spec: {externalIPs: [192.0.2.1]}}`,
			want: "spec.externalIPs of Service team/stranger"},
		"a name leads elsewhere": {do: kubeDNS, body: `{spec: {type: ExternalName, externalName: evil.example.com, clusterIP: "", clusterIPs: null, selector: null}}`,
			want: "spec.externalName"},
		"a mux is no load balancer any more": {do: mux, body: `{spec: {type: ClusterIP, allocateLoadBalancerNodePorts: null}}`,
			want: "spec.type"},
		"source ranges are opened": {do: mux, body: `{spec: {loadBalancerSourceRanges: [0.0.0.0/0]}}`,
			want: "spec.loadBalancerSourceRanges"},
		"ports of a mux, and beside them its traffic policy": {do: mux,
			body: `{spec: {ports: [{name: 0123456789abcdef0123, port: 20000}], externalTrafficPolicy: Local}}`, want: "spec.externalTrafficPolicy"},
		"the ports of a mux that is Kubernetes' own": {do: "PATCH /api/v1/namespaces/kube-system/services/mux",
			body: `{spec: {ports: [{name: 0123456789abcdef0123, port: 20000}]}}`, want: "spec.ports of Service kube-system/mux, which is neither"},
		"the ports of a mux in a namespace that isn't named": {as: narrow, do: "PATCH /api/v1/namespaces/team/services/mux/status",
			body: `{metadata: {annotations: {` + prefix + `/generation: "2"}}}`, want: prefix + "/generation of Service team/mux, which is neither"},

		"a stranger becomes a mux": {do: stranger, body: `{metadata: {annotations: {` + prefix + `/multiplexer: "true"}}, spec: {ports: [{name: https, port: 444}]}}`,
			want: "spec.ports of Service team/stranger"},
		"a stranger becomes a mux, by its status": {do: stranger + "/status", body: `{metadata: {annotations: {` + prefix + `/multiplexer: "true"}}}`,
			want: "the annotation " + prefix + "/multiplexer of Service team/stranger"},
		"a mux opens to other namespaces": {do: mux, body: `{metadata: {annotations: {` + prefix + `/allowed-namespaces: "*"}}}`,
			want: "the annotation " + prefix + "/allowed-namespaces of Service svc-mux/mux"},
		"a mux gets another ledger, by its status": {do: mux + "/status", body: `{metadata: {annotations: {` + prefix + `/allocation-configmap: settings}}}`,
			want: "the annotation " + prefix + "/allocation-configmap"},
		"a mux loses what makes it one": {do: mux, body: `{metadata: {annotations: {` + prefix + `/multiplexer: null}}}`,
			want: "the annotation " + prefix + "/multiplexer"},
		"a stranger is told to have ports of a mux": {do: stranger + "/status", body: `{metadata: {annotations: {` + prefix + `/ports: "https:443->20000"}}}`,
			want: "the annotation " + prefix + "/ports of Service team/stranger"},
		"a stranger is given a DNS name": {do: stranger + "/status", body: `{metadata: {annotations: {external-dns.alpha.kubernetes.io/hostname: bank.example.com}}}`,
			want: "external-dns.alpha.kubernetes.io/hostname of Service team/stranger"},
		"a channel asks for another port": {do: web + "/status", body: `{metadata: {annotations: {` + prefix + `/external-ports: "http:443"}}}`,
			want: prefix + "/external-ports of Service team/web"},
		"a provider is told something else": {do: mux, body: `{metadata: {annotations: {service.beta.kubernetes.io/aws-load-balancer-internal: "false"}}}`,
			want: "aws-load-balancer-internal"},
		"an annotation of somebody's goes": {do: stranger + "/status", body: `{metadata: {annotations: {theirs: null}}}`,
			want: "the annotation theirs of Service team/stranger"},
		"an annotation of the original's framework comes": {do: web + "/status", body: `{metadata: {annotations: {kopf.zalando.org/KopfFinalizerMarker: x}}}`,
			want: "the annotation kopf.zalando.org/KopfFinalizerMarker"},

		"a Service is labelled": {do: kubeDNS + "/status", body: `{metadata: {labels: {team: mine}}}`,
			want: "metadata.labels of Service kube-system/kube-dns"},
		"a mux loses a label": {do: mux, body: `{metadata: {labels: {team: null}}}`, want: "metadata.labels of Service svc-mux/mux"},
		"a Service is owned, to be collected": {do: stranger + "/status",
			body: `{metadata: {ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: none, uid: 00000000-0000-0000-0000-000000000009}]}}`,
			want: "metadata.ownerReferences of Service team/stranger"},
		"a Service is kept from going": {do: kubeDNS + "/status", body: `{metadata: {finalizers: [example.com/mine]}}`,
			want: "the finalizers [] of Service kube-system/kube-dns"},
		"the original's finalizer comes": {do: stranger + "/status", body: `{metadata: {finalizers: [` + prefix + `/finalizer]}}`,
			want: "into [" + prefix + "/finalizer]"},
		"a finalizer of somebody's goes": {do: web + "/status", body: `{metadata: {finalizers: [` + prefix + `/finalizer]}}`,
			want: "the finalizers [" + prefix + "/finalizer, example.com/theirs] of Service team/web"},

		"all finalizers go": {do: web + "/status", body: `{metadata: {finalizers: []}}`, want: "of Service team/web, which is a channel into []"},

		"a stranger shows an address": {do: stranger + "/status", body: `{status: {loadBalancer: {ingress: [{ip: 192.0.2.1, ipMode: Proxy}]}}}`,
			want: "the address in status.loadBalancer of Service team/stranger"},
		"a mux shows an address": {do: mux + "/status", body: `{status: {loadBalancer: {ingress: [{ip: 192.0.2.1, ipMode: Proxy}]}}}`,
			want: "the address in status.loadBalancer of Service svc-mux/mux"},
		"a channel's address is its own for kube-proxy": {do: web + "/status", body: `{status: {loadBalancer: {ingress: [{ip: 10.96.0.10}]}}}`,
			want: "10.96.0.10 with ipMode VIP"},
		"one of a channel's addresses is": {do: web + "/status",
			body: `{status: {loadBalancer: {ingress: [{ip: 192.0.2.1, ipMode: Proxy}, {ip: 10.96.0.10, ipMode: VIP}]}}}`, want: "10.96.0.10 with ipMode VIP"},
		"a channel's address has ports": {do: web + "/status",
			body: `{status: {loadBalancer: {ingress: [{ip: 192.0.2.1, ipMode: Proxy, ports: [{port: 1, protocol: TCP}]}]}}}`, want: "and no ports"},
		"a condition of somebody's": {do: web + "/status", body: `{status: {conditions: [` + condition("example.com/Ready") + `]}}`,
			want: "the condition example.com/Ready of Service team/web"},
		"a condition of ours on a stranger": {do: stranger + "/status", body: `{status: {conditions: [` + condition(prefix+"/Accepted") + `]}}`,
			want: "the condition " + prefix + "/Accepted of Service team/stranger"},
		"a condition of ours on a mux": {do: mux + "/status", body: `{status: {conditions: [` + condition(prefix+"/Accepted") + `]}}`,
			want: "the condition " + prefix + "/Accepted of Service svc-mux/mux"},

		"a Service is made": {as: wide, do: "POST /api/v1/namespaces/team/services",
			body: `{apiVersion: v1, kind: Service, metadata: {name: mine}, spec: {ports: [{port: 80}]}}`, want: "never asks to CREATE services such as team/mine"},
		"a Service is deleted": {as: wide, do: "DELETE /api/v1/namespaces/kube-system/services/kube-dns",
			want: "never asks to DELETE services such as kube-system/kube-dns"},
		"a selector is pointed elsewhere, by whom roles let do anything": {as: wide, do: kubeDNS, body: `{spec: {selector: {app: mine}}}`,
			want: "spec.selector of Service kube-system/kube-dns"},
	}
}

func serviceUses() map[string]attempt {
	return map[string]attempt{
		"ports and notes of a mux": {do: mux, body: `{spec: {ports: [{name: 0123456789abcdef0123, port: 20000}, {name: abcdef0, port: 53, protocol: UDP}]},
			metadata: {annotations: {` + prefix + `/generation: "2", ` + prefix + `/announced: "17", ` + prefix + `/channels: '["team/web"]', ` + prefix + `/topology: web, ` + prefix + `/summary: one,
			` + prefix + `/aggregated-external-dns: null, external-dns.alpha.kubernetes.io/hostname: null, external-dns.alpha.kubernetes.io/cloudflare-proxied: "true"}}}`},
		"what the original left on a mux goes": {do: mux,
			body: `{metadata: {finalizers: [example.com/theirs], annotations: {kopf.zalando.org/last-handled-configuration: null}}}`},
		"what the original left on a mux goes, by its status": {do: mux + "/status",
			body: `{metadata: {finalizers: [example.com/theirs], annotations: {kopf.zalando.org/last-handled-configuration: null}}}`},
		"address, conditions and annotation of a channel": {do: web + "/status", body: `{metadata: {annotations: {` + prefix + `/ports: "http:80->20001"}},
			status: {loadBalancer: {ingress: [{ip: 192.0.2.1, ipMode: Proxy}, {hostname: lb.example.com}]}, conditions: [` + condition(prefix+"/Accepted") + `]}}`},
		"a channel is cleaned": {do: web + "/status", body: `{metadata: {annotations: {` + prefix + `/ports: null, kopf.zalando.org/last-handled-configuration: null},
			finalizers: [example.com/theirs]}, status: {loadBalancer: {ingress: null}, conditions: []}}`},
		"what was a channel is cleaned": {do: former + "/status", body: `{metadata: {annotations: {` + prefix + `/ports: null}}, status: {conditions: []}}`},
		"a write that changes nothing":  {do: kubeDNS + "/status", body: `{metadata: {labels: {}}}`},
		"ports of a mux in the namespace that is named": {as: narrow, do: mux,
			body: `{spec: {ports: [{name: 0123456789abcdef0123, port: 20000}]}, metadata: {annotations: {` + prefix + `/generation: "2"}}}`},
	}
}

func condition(kind string) string {
	return `{type: ` + kind + `, status: "True", reason: Tried, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}`
}
