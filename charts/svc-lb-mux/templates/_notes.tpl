{{- /* Which of the original's values were given that mean nothing to a process of ours. */ -}}
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
