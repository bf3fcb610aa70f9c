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
		"a slice for kube-dns": refused(made("kube-system/kube-dns", "0123456789abcdef0123", "dns"),
			"there are no muxes in namespace kube-system"),
		"a slice with a Service's port names": refused(made("team/stranger", "0123456789abcdef0123", "https"),
			`for Service "stranger" with the ports "https"`),
		"a slice with an unnamed port": refused(made("team/stranger", "name: 0123456789abcdef0123, ", ""),
			`with the ports ""`),
		"a slice without ports": refused(made("team/stranger", "ports: [{name: 0123456789abcdef0123, port: 8080}]",
			"ports: []"),
			"with 0 ports"),
		"a slice with a host name": refused(made(namespace+"/mux", "addressType: IPv4", "addressType: FQDN", "10.1.0.9",
			"evil.example.com"),
			"of the address type FQDN"),
		"a slice with Kubernetes' managed-by label": refused(
			made(namespace+"/mux", "managed-by: "+prefix, "managed-by: endpointslice-controller.k8s.io"),
			"without our marks"),
		"a slice without our managed label": refused(made(namespace+"/mux", `managed: "true"`, `managed: "false"`),
			"without our marks"),
		"a slice with another mux's annotation": refused(
			made(namespace+"/mux", prefix+"/mux: "+namespace+"/mux", prefix+"/mux: team/mux"), "without our marks"),
		"a slice for no Service": refused(made(namespace+"/mux", "service-name: mux", `service-name: ""`),
			`for Service ""`),
		"a slice without an owner": refused(made(namespace+"/mux", owner, ""),
			`its owner is the Service that it is for, "mux"`),
		"a slice with another Service as owner": refused(made(namespace+"/mux", "kind: Service, name: mux",
			"kind: Service, name: other"),
			"with the owners Service other"),
		"a slice with a second owner": refused(made(namespace+"/mux", "ownerReferences: [",
			"ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: settings, uid: 00000000-0000-0000-0000-000000000002}, "),
			"with the owners ConfigMap settings, Service mux"),
		"a slice with a second owner of its mux's name": refused(made(namespace+"/mux", "ownerReferences: [",
			"ownerReferences: [{apiVersion: example.com/v1, kind: Service, name: mux, uid: "+
				"00000000-0000-0000-0000-000000000002}, "),
			"with the owners Service mux, Service mux"),
		"a slice with a second owner of another kind": refused(made(namespace+"/mux", "ownerReferences: [",
			"ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: mux, uid: 00000000-0000-0000-0000-000000000002}, "),
			"with the owners ConfigMap mux, Service mux"),
		"a slice in an unserved namespace": {as: narrow, do: "POST " + slices + "team/endpointslices",
			body: slice("team", "mux"),
			want: "there are no muxes in namespace team"},
		"a slice with its mux as controller": refused(
			made(namespace+"/mux", "kind: Service, name: mux", "kind: Service, name: mux, controller: true"),
			"with the owners Service mux"),
		"a slice that blocks its owner's deletion": refused(asWide(made(namespace+"/mux", "kind: Service, name: mux",
			"kind: Service, name: mux, blockOwnerDeletion: true")),
			"with the owners Service mux"),
		"a slice with a finalizer": refused(made(namespace+"/mux", "name: made",
			"name: made, finalizers: [example.com/mine]"),
			"the finalizers of EndpointSlice svc-mux/made"),

		"rewriting the slices of kube-dns": {do: "PATCH " + slices + "kube-system/endpointslices/kube-dns-abcde",
			body: `{endpoints: [{addresses: [10.1.0.9]}]}`,
			want: `it isn't ours, but managed by "endpointslice-controller.k8s.io"`},
		"deleting the slices of kube-dns": {do: "DELETE " + slices + "kube-system/endpointslices/kube-dns-abcde",
			want: `may not DELETE EndpointSlice kube-system/kube-dns-abcde: it isn't ours`},
		"taking over a foreign slice": change("theirs",
			`{metadata: {labels: {endpointslice.kubernetes.io/managed-by: `+prefix+`}}}`,
			`it isn't ours, but managed by "somebody"`),
		"deleting a foreign slice": {do: "DELETE " + slices + namespace + "/endpointslices/theirs",
			want: `managed by "somebody"`},
		"deleting a mirrored slice": {do: "DELETE " + slices + namespace + "/endpointslices/mirrored",
			want: `managed by "endpointslicemirroring-controller.k8s.io"`},
		"giving our slice to another Service": change("ours", `{metadata: {labels: {kubernetes.io/service-name: stranger}}}`,
			`for Service "stranger"`),
		"giving our slice to another Service with all marks": change("ours",
			`{metadata: {labels: {kubernetes.io/service-name: stranger},
			annotations: {`+prefix+`/mux: `+namespace+`/stranger}}}`, `its owner is the Service that it is for, "stranger"`),
		"another Service's ports in our slice": change("ours", `{ports: [{name: https, port: 8443}]}`,
			`with the ports "https"`),
		"giving our slice to Kubernetes": change("ours",
			`{metadata: {labels: {endpointslice.kubernetes.io/managed-by: endpointslice-controller.k8s.io}}}`,
			"without our marks"),
		"a slice in a namespace without muxes": {as: wide, do: "POST " + slices + "kube-public/endpointslices",
			body: slice("kube-public", "mux"),
			want: "there are no muxes in namespace kube-public"},
		"a slice for the API server's Service": refused(made("default/kubernetes", "0123456789abcdef0123", "https"),
			`with the ports "https"`),
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
		"a slice in the served namespace": {as: narrow, do: "POST " + slices + namespace + "/endpointslices",
			body: slice(namespace, "mux")},
		"adding an endpoint":     change("ours", `{endpoints: [{addresses: [10.1.0.1]}, {addresses: [10.1.0.2]}]}`),
		"removing all endpoints": change("ours", `{endpoints: []}`),
		"adding a port": change("ours",
			`{ports: [{name: 0123456789abcdef0123, port: 8080}, {name: 0123456789abcdef4567, port: 53, protocol: UDP}]}`),
		"restoring our marks": change("unlabelled",
			`{metadata: {labels: {kubernetes.io/service-name: mux, endpointslice.kubernetes.io/managed-by: `+prefix+`},
			ownerReferences: [{apiVersion: v1, kind: Service, name: mux, uid: 00000000-0000-0000-0000-000000000001}]}}`),
		"the owner of a recreated mux": change("ours",
			`{metadata: {ownerReferences: [{apiVersion: v1, kind: Service, name: mux, `+
				`uid: 00000000-0000-0000-0000-000000000003}]}}`),
		"deleting our slice":            {do: "DELETE " + slices + namespace + "/endpointslices/ours"},
		"deleting our unlabelled slice": {do: "DELETE " + slices + namespace + "/endpointslices/unlabelled"},
	}
}

// slice returns the slice that the reconciler writes for a Service, with some texts replaced.
func slice(namespace, service string, changes ...string) string {
	return strings.NewReplacer(changes...).Replace(`
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: made, labels: {kubernetes.io/service-name: ` + service + `,
  endpointslice.kubernetes.io/managed-by: ` + prefix + `,
  ` + prefix + `/channel-namespace: team, ` + prefix + `/channel-name: web, ` + prefix + `/source: web-abcde},
  annotations: {` + prefix + `/managed: "true", ` + prefix + `/mux: ` + namespace + `/` + service + `},
  ownerReferences: [{apiVersion: v1, kind: Service, name: ` + service + `, uid: 00000000-0000-0000-0000-000000000001}]}
addressType: IPv4
ports: [{name: 0123456789abcdef0123, port: 8080}]
endpoints: [{addresses: [10.1.0.9]}]
`)
}
