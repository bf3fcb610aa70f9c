{{- /* The original's values that are set and have no effect. */ -}}
{{- define "svc-mux.notPassedOn" -}}
{{- $given := list -}}
{{- range list "image" "command" "args" "livenessProbe" "readinessProbe" "startupProbe" "service" -}}
{{- if index $.Values . -}}{{- $given = append $given . -}}{{- end -}}
{{- end -}}
{{- join ", " $given -}}
{{- end -}}

{{- define "svc-mux.exampleChannel" -}}
apiVersion: v1
kind: Service
metadata:
  name: web
  {{- if or .context.Values.defaultLoadBalancer.portRange (not .context.Values.defaultLoadBalancer.create) }}
  annotations: {{ "{" }}{{ .context.Values.api.prefix }}/external-ports: "http:auto"}
  {{- end }}
spec:
  type: LoadBalancer
  loadBalancerClass: {{ .class }}
  allocateLoadBalancerNodePorts: false
  selector: {app: web}
  ports: [{name: http, port: 80, targetPort: 8080}]
{{- end -}}

{{- define "svc-mux.exampleMux" -}}
apiVersion: v1
kind: Service
metadata:
  name: edge
  namespace: {{ .Release.Namespace }}
  annotations: {{ "{" }}{{ .Values.api.prefix }}/multiplexer: "true", {{ .Values.api.prefix }}/port-range: 20000-20099}
spec:
  type: LoadBalancer
  ports: [{name: placeholder, port: 101}]
{{- end -}}

{{- /*
The namespaces where muxes are, or will be, as JSON. Empty if helm knows no cluster, or without rbac.create: without the right to
list Services, lookup would stop the install.
*/ -}}
{{- define "svc-mux.muxNamespacesFound" -}}
{{- $services := list -}}
{{- if .Values.rbac.create -}}{{- $services = (lookup "v1" "Service" "" "").items | default list -}}{{- end -}}
{{- if $services -}}
{{- $found := .Values.defaultLoadBalancer.create | ternary (list .Release.Namespace) list -}}
{{- $key := printf "%s/multiplexer" .Values.api.prefix -}}
{{- range $services -}}
{{- if ne (dig "annotations" $key "false" .metadata) "false" -}}{{- $found = append $found .metadata.namespace -}}{{- end -}}
{{- end -}}
{{- $found | uniq | sortAlpha | toJson -}}
{{- end -}}
{{- end -}}

{{- /* The note about rbac.muxNamespaces in this cluster. */ -}}
{{- define "svc-mux.muxNamespacesNote" -}}
{{- $found := include "svc-mux.muxNamespacesFound" . | default "[]" | fromJsonArray -}}
{{- $left := list -}}
{{- range $found -}}{{- if not (has . $.Values.rbac.muxNamespaces) -}}{{- $left = append $left . -}}{{- end -}}{{- end -}}
{{- if and $found (not .Values.rbac.muxNamespaces) }}

The reconciler may write Services and ConfigMaps in every namespace. To limit it to the namespaces with muxes, upgrade with
  --set 'rbac.muxNamespaces={ {{- join "," $found -}} }'
{{- else if $left }}

This release doesn't serve the muxes in these namespaces, because rbac.muxNamespaces doesn't list them: {{ join ", " $left }}
{{- end }}
{{- end -}}
