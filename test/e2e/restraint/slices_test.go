package restraint

import "strings"

const (
	slices = "/apis/discovery.k8s.io/v1/namespaces/"
	owner  = `{apiVersion: v1, kind: Service, name: mux, uid: 00000000-0000-0000-0000-000000000001}`
)

func sliceAbuses() map[string]attempt {
	made := func(at string, changes ...string) attempt {
		namespace, service, _ := strings.Cut(at, "/")
		return attempt{do: "POST " + slices + namespace + "/endpointslices", body: slice(namespace, service, changes...)}
	}
	refused := func(a attempt, want string) attempt {
		a.want = want
		return a
	}
	change := func(name, body, want string) attempt {
		return attempt{do: "PATCH " + slices + namespace + "/endpointslices/" + name, body: body, want: want}
	}
	asWide := func(a attempt) attempt {
		a.as = wide
		return a
	}
	return map[string]attempt{
		"kube-dns is answered for": refused(made("kube-system/kube-dns", "0123456789abcdef0123", "dns"),
			"there are no muxes in namespace kube-system"),
		"a Service is answered for by the names of its ports": refused(made("team/stranger", "0123456789abcdef0123", "https"),
			`for Service "stranger" with the ports "https"`),
		"a Service is answered for by a port without a name": refused(made("team/stranger", "name: 0123456789abcdef0123, ", ""),
			`with the ports ""`),
		"a Service is answered for by all its ports": refused(made("team/stranger", "ports: [{name: 0123456789abcdef0123, port: 8080}]", "ports: []"),
			"with 0 ports"),
		"a name is answered for": refused(made(namespace+"/mux", "addressType: IPv4", "addressType: FQDN", "10.1.0.9", "evil.example.com"),
			"of the address type FQDN"),
		"a slice says that Kubernetes manages it": refused(made(namespace+"/mux", "managed-by: "+prefix, "managed-by: endpointslice-controller.k8s.io"),
			"without our marks"),
		"a slice doesn't say that it is managed": refused(made(namespace+"/mux", `managed: "true"`, `managed: "false"`), "without our marks"),
		"a slice says that it is another mux's":  refused(made(namespace+"/mux", prefix+"/mux: "+namespace+"/mux", prefix+"/mux: team/mux"), "without our marks"),
		"a slice for no Service":                 refused(made(namespace+"/mux", "service-name: mux", `service-name: ""`), `for Service ""`),
		"a slice that nobody owns": refused(made(namespace+"/mux", owner, ""),
			`its owner is the Service that it is for, "mux"`),
		"a slice that another Service owns": refused(made(namespace+"/mux", "kind: Service, name: mux", "kind: Service, name: other"),
			"with the owners Service other"),
		"a slice that others own, too": refused(made(namespace+"/mux", "ownerReferences: [",
			"ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: settings, uid: 00000000-0000-0000-0000-000000000002}, "),
			"with the owners ConfigMap settings, Service mux"),
		"a slice that something else of its mux's name owns, too": refused(made(namespace+"/mux", "ownerReferences: [",
			"ownerReferences: [{apiVersion: example.com/v1, kind: Service, name: mux, uid: 00000000-0000-0000-0000-000000000002}, "),
			"with the owners Service mux, Service mux"),
		"a slice that another kind of its mux's name owns, too": refused(made(namespace+"/mux", "ownerReferences: [",
			"ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: mux, uid: 00000000-0000-0000-0000-000000000002}, "),
			"with the owners ConfigMap mux, Service mux"),
		"a slice in a namespace that isn't named": {as: narrow, do: "POST " + slices + "team/endpointslices", body: slice("team", "mux"),
			want: "there are no muxes in namespace team"},
		"a slice that its mux controls": refused(made(namespace+"/mux", "kind: Service, name: mux", "kind: Service, name: mux, controller: true"),
			"with the owners Service mux"),
		"a slice that keeps its mux from going": refused(asWide(made(namespace+"/mux", "kind: Service, name: mux", "kind: Service, name: mux, blockOwnerDeletion: true")),
			"with the owners Service mux"),
		"a slice that is kept from going": refused(made(namespace+"/mux", "name: made", "name: made, finalizers: [example.com/mine]"),
			"the finalizers of EndpointSlice svc-mux/made"),

		"the slices of kube-dns are rewritten": {do: "PATCH " + slices + "kube-system/endpointslices/kube-dns-abcde",
			body: `{endpoints: [{addresses: [10.1.0.9]}]}`, want: `it isn't ours, but managed by "endpointslice-controller.k8s.io"`},
		"the slices of kube-dns are deleted": {do: "DELETE " + slices + "kube-system/endpointslices/kube-dns-abcde",
			want: `may not DELETE EndpointSlice kube-system/kube-dns-abcde: it isn't ours`},
		"a slice of somebody's becomes ours": change("theirs", `{metadata: {labels: {endpointslice.kubernetes.io/managed-by: `+prefix+`}}}`,
			`it isn't ours, but managed by "somebody"`),
		"a slice of somebody's is deleted": {do: "DELETE " + slices + namespace + "/endpointslices/theirs", want: `managed by "somebody"`},
		"a slice that Kubernetes mirrors is deleted": {do: "DELETE " + slices + namespace + "/endpointslices/mirrored",
			want: `managed by "endpointslicemirroring-controller.k8s.io"`},
		"a slice of ours is given to another Service": change("ours", `{metadata: {labels: {kubernetes.io/service-name: stranger}}}`, `for Service "stranger"`),
		"a slice of ours is given to another Service, marks and all": change("ours", `{metadata: {labels: {kubernetes.io/service-name: stranger},
			annotations: {`+prefix+`/mux: `+namespace+`/stranger}}}`, `its owner is the Service that it is for, "stranger"`),
		"a slice of ours is given ports of another Service": change("ours", `{ports: [{name: https, port: 8443}]}`, `with the ports "https"`),
		"a slice of ours is given to Kubernetes":            change("ours", `{metadata: {labels: {endpointslice.kubernetes.io/managed-by: endpointslice-controller.k8s.io}}}`, "without our marks"),
		"a slice where muxes aren't": {as: wide, do: "POST " + slices + "kube-public/endpointslices", body: slice("kube-public", "mux"),
			want: "there are no muxes in namespace kube-public"},
		"the API server itself is answered for": refused(made("default/kubernetes", "0123456789abcdef0123", "https"), `with the ports "https"`),
	}
}

func sliceUses() map[string]attempt {
	change := func(name, body string) attempt {
		return attempt{do: "PATCH " + slices + namespace + "/endpointslices/" + name, body: body}
	}
	return map[string]attempt{
		"a slice for a mux": {do: "POST " + slices + namespace + "/endpointslices", body: slice(namespace, "mux")},
		"a slice with a port that the original named": {do: "POST " + slices + namespace + "/endpointslices",
			body: slice(namespace, "mux", "0123456789abcdef0123", "abcdef0")},
		"a slice in the namespace that is named": {as: narrow, do: "POST " + slices + namespace + "/endpointslices", body: slice(namespace, "mux")},
		"a pod comes":                            change("ours", `{endpoints: [{addresses: [10.1.0.1]}, {addresses: [10.1.0.2]}]}`),
		"all pods go":                            change("ours", `{endpoints: []}`),
		"a port is added":                        change("ours", `{ports: [{name: 0123456789abcdef0123, port: 8080}, {name: 0123456789abcdef4567, port: 53, protocol: UDP}]}`),
		"marks are put right": change("unlabelled", `{metadata: {labels: {kubernetes.io/service-name: mux, endpointslice.kubernetes.io/managed-by: `+prefix+`},
			ownerReferences: [{apiVersion: v1, kind: Service, name: mux, uid: 00000000-0000-0000-0000-000000000001}]}}`),
		"its mux was made anew":     change("ours", `{metadata: {ownerReferences: [{apiVersion: v1, kind: Service, name: mux, uid: 00000000-0000-0000-0000-000000000003}]}}`),
		"it goes":                   {do: "DELETE " + slices + namespace + "/endpointslices/ours"},
		"it goes without its label": {do: "DELETE " + slices + namespace + "/endpointslices/unlabelled"},
	}
}

// slice is what the reconciler writes for a Service, with texts of it replaced by others.
func slice(namespace, service string, changes ...string) string {
	return strings.NewReplacer(changes...).Replace(`
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  {name: made, labels: {kubernetes.io/service-name: ` + service + `, endpointslice.kubernetes.io/managed-by: ` + prefix + `,
  ` + prefix + `/channel-namespace: team, ` + prefix + `/channel-name: web, ` + prefix + `/source: web-abcde},
  annotations: {` + prefix + `/managed: "true", ` + prefix + `/mux: ` + namespace + `/` + service + `},
  ownerReferences: [{apiVersion: v1, kind: Service, name: ` + service + `, uid: 00000000-0000-0000-0000-000000000001}]}
addressType: IPv4
ports: [{name: 0123456789abcdef0123, port: 8080}]
endpoints: [{addresses: [10.1.0.9]}]
`)
}
