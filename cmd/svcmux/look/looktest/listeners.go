package looktest

// BackedListener is an EndpointSlice with a backend of listener infra/gateway/edge/web, as the reconciler writes it on
// the mux of the world listeners.
const BackedListener = `kind: EndpointSlice
metadata:
  namespace: infra
  name: gateway-edge-web
  labels:
    kubernetes.io/service-name: gateway-edge
    endpointslice.kubernetes.io/managed-by: svc-mux.nowake.ai
    svc-mux.nowake.ai/channel-namespace: infra
    svc-mux.nowake.ai/channel-name: gateway_edge_web
  ownerReferences: [{apiVersion: v1, kind: Service, name: gateway-edge, uid: infra/gateway-edge}]
addressType: IPv4
ports: [{name: any, port: 8080, protocol: TCP}]
endpoints: [{addresses: [10.0.0.1], conditions: {ready: true}}]
`
