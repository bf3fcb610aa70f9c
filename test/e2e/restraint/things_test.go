package restraint

// things are the objects in the cluster: a mux and a channel with everything that belongs to them, and foreign objects.
const things = `
apiVersion: v1
kind: Namespace
metadata: {name: ` + namespace + `}
---
apiVersion: v1
kind: Namespace
metadata: {name: team}
---
apiVersion: v1
kind: Service
metadata:
  name: mux
  namespace: ` + namespace + `
  labels: {team: a}
  finalizers: [` + prefix + `/finalizer, example.com/theirs]
  annotations:
    ` + prefix + `/multiplexer: "true"
    ` + prefix + `/port-range: 20000-20099
    ` + prefix + `/generation: "1"
    ` + prefix + `/aggregated-external-dns: app.example.com
    external-dns.alpha.kubernetes.io/hostname: app.example.com
    kopf.zalando.org/last-handled-configuration: "{}"
spec:
  type: LoadBalancer
  allocateLoadBalancerNodePorts: false
  ports: [{name: placeholder, port: 101}]
---
apiVersion: v1
kind: Service
metadata:
  name: web
  namespace: team
  finalizers: [` + prefix + `/finalizer, example.com/theirs]
  annotations:
    ` + prefix + `/external-ports: http:auto
    ` + prefix + `/ports: http:80->20000
    kopf.zalando.org/last-handled-configuration: "{}"
    theirs: stays
spec:
  type: LoadBalancer
  loadBalancerClass: ` + prefix + `/mux.` + namespace + `
  allocateLoadBalancerNodePorts: false
  selector: {app: web}
  ports: [{name: http, port: 80}]
---
# A Service that was a channel once.
apiVersion: v1
kind: Service
metadata: {name: former, namespace: team, annotations: {` + prefix + `/ports: "http:80->20000"}}
spec: {selector: {app: web}, ports: [{name: http, port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: stranger, namespace: team, annotations: {theirs: stays}}
spec: {type: LoadBalancer, allocateLoadBalancerNodePorts: false, selector: {app: bank},
  ports: [{name: https, port: 443}]}
---
apiVersion: v1
kind: Service
metadata: {name: kube-dns, namespace: kube-system}
spec: {selector: {k8s-app: kube-dns}, ports: [{name: dns, port: 53, protocol: UDP}]}
---
# Somebody who may write Services in kube-system can make one a mux; it isn't ours to look after all the same.
apiVersion: v1
kind: Service
metadata: {name: mux, namespace: kube-system, annotations: {` + prefix + `/multiplexer: "true"}}
spec: {type: LoadBalancer, allocateLoadBalancerNodePorts: false, ports: [{name: placeholder, port: 101}]}
---
apiVersion: v1
kind: Service
metadata: {name: mux, namespace: team, annotations: {` + prefix + `/multiplexer: "true"}}
spec: {type: LoadBalancer, allocateLoadBalancerNodePorts: false, ports: [{name: placeholder, port: 101}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: ours
  namespace: ` + namespace + `
  labels: {kubernetes.io/service-name: mux, endpointslice.kubernetes.io/managed-by: ` + prefix + `, team: a}
  annotations: {` + prefix + `/managed: "true", ` + prefix + `/mux: ` + namespace + `/mux}
  ownerReferences: [{apiVersion: v1, kind: Service, name: mux, uid: 00000000-0000-0000-0000-000000000001}]
addressType: IPv4
ports: [{name: 0123456789abcdef0123, port: 8080}]
endpoints: [{addresses: [10.1.0.1]}]
---
# Ours, from which somebody took the label.
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: unlabelled
  namespace: ` + namespace + `
  annotations: {` + prefix + `/managed: "true", ` + prefix + `/mux: ` + namespace + `/mux}
addressType: IPv4
ports: [{name: 0123456789abcdef0123, port: 8080}]
endpoints: [{addresses: [10.1.0.1]}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: theirs
  namespace: ` + namespace + `
  labels: {kubernetes.io/service-name: mux, endpointslice.kubernetes.io/managed-by: somebody}
addressType: IPv4
ports: [{name: http, port: 8080}]
endpoints: [{addresses: [10.1.0.2]}]
---
# As Kubernetes mirrors what the original wrote: the annotation comes along.
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: mirrored
  namespace: ` + namespace + `
  labels: {kubernetes.io/service-name: mux,
    endpointslice.kubernetes.io/managed-by: endpointslicemirroring-controller.k8s.io}
  annotations: {` + prefix + `/managed: "true"}
addressType: IPv4
ports: [{name: abcdef0, port: 8080}]
endpoints: [{addresses: [10.1.0.2]}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: kube-dns-abcde
  namespace: kube-system
  labels: {kubernetes.io/service-name: kube-dns,
    endpointslice.kubernetes.io/managed-by: endpointslice-controller.k8s.io}
addressType: IPv4
ports: [{name: dns, port: 53, protocol: UDP}]
endpoints: [{addresses: [10.1.0.3]}]
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: mux-port-allocations
  namespace: ` + namespace + `
  labels: {app.kubernetes.io/name: svc-lb-mux, app.kubernetes.io/component: mux-state, team: a}
  annotations: {` + prefix + `/mux: ` + namespace + `/mux, ` + prefix + `/generation: "1"}
data: {allocations.json: "{}", notes: theirs}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: ` + namespace + `}
data: {password: rules}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: kube-root-ca.crt, namespace: team}
data: {ca.crt: certificate}
---
apiVersion: v1
kind: Endpoints
metadata:
  name: mux
  namespace: ` + namespace + `
  labels: {app.kubernetes.io/managed-by: svc-lb-mux, app.kubernetes.io/component: mux-endpoints}
  annotations: {` + prefix + `/managed: "true", ` + prefix + `/mux: ` + namespace + `/mux}
subsets: [{addresses: [{ip: 10.1.0.1}], ports: [{name: abcdef0, port: 8080}]}]
---
apiVersion: v1
kind: Endpoints
metadata: {name: theirs, namespace: ` + namespace + `, labels: {app.kubernetes.io/managed-by: svc-lb-mux}}
subsets: [{addresses: [{ip: 10.1.0.1}], ports: [{name: abcdef0, port: 8080}]}]
---
apiVersion: v1
kind: Secret
metadata: {name: ` + keeper + `-webhook-tls, namespace: ` + namespace + `}
type: kubernetes.io/tls
stringData: {tls.crt: "", tls.key: ""}
---
apiVersion: v1
kind: Secret
metadata: {name: password, namespace: ` + namespace + `}
stringData: {password: rules}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: ` + usual + `.` + namespace + `}
webhooks: []
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: ` + wide + `.` + namespace + `}
webhooks: []
---
apiVersion: v1
kind: Event
metadata: {name: web.ours, namespace: team}
involvedObject: {apiVersion: v1, kind: Service, name: web, namespace: team}
reason: MuxPortConflict
type: Warning
source: {component: svc-lb-mux}
reportingComponent: svc-lb-mux
---
apiVersion: v1
kind: Event
metadata: {name: web.theirs, namespace: team}
involvedObject: {apiVersion: v1, kind: Service, name: web, namespace: team}
reason: SyncLoadBalancerFailed
type: Warning
source: {component: service-controller}
reportingComponent: service-controller
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: ` + wide + `, namespace: ` + namespace + `}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: theirs, namespace: ` + namespace + `}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: ` + keeper + `.` + namespace + `}
webhooks:
- name: change.services.` + prefix + `
  sideEffects: None
  admissionReviewVersions: [v1]
  clientConfig: {service: {name: webhook, namespace: ` + namespace + `, path: /validate}}
  # Nobody is there to answer.
  rules: [{apiGroups: [example.com], apiVersions: [v1], resources: [things], operations: [CREATE]}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: ` + keeper + `.` + namespace + `}
webhooks: []
---
apiVersion: v1
kind: Endpoints
metadata: {name: annotated, namespace: ` + namespace + `, annotations: {` + prefix + `/managed: "true"}}
subsets: [{addresses: [{ip: 10.1.0.1}], ports: [{name: abcdef0, port: 8080}]}]
`
