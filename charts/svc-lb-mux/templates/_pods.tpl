{{- /* The image of webhook or reconciler, by its values. */ -}}
{{- define "svc-mux.image" -}}
{{- $image := index .context.Values.images .part -}}
{{- with .context.Values.images.registry }}{{ . }}/{{ end -}}
{{ $image.repository }}
{{- if $image.digest }}@{{ $image.digest }}{{ else }}:{{ $image.tag | default .context.Chart.AppVersion }}{{ end -}}
{{- end -}}

{{- /* A part of a memory limit, as the Go runtime writes it; empty without a limit in Ki, Mi or Gi. */ -}}
{{- define "svc-mux.goMemoryLimit" -}}
{{- include "svc-mux.goMemoryShare" (dict "resources" . "tenths" 9) -}}
{{- end -}}

{{- define "svc-mux.goMemoryShare" -}}
{{- $limit := dig "limits" "memory" "" (.resources | default dict) | toString -}}
{{- if regexMatch "^[0-9]+[KMG]i$" $limit -}}
{{- $kib := dict "Ki" 1 "Mi" 1024 "Gi" 1048576 -}}
{{- $unit := trimPrefix (regexFind "^[0-9]+" $limit) $limit -}}
{{ div (mul (regexFind "^[0-9]+" $limit | int64) (get $kib $unit) .tenths) 10 }}KiB
{{- end -}}
{{- end -}}

{{- /* The environment in the values as a list. The values may have a list or a map. */ -}}
{{- define "svc-mux.env" -}}
{{- if kindIs "map" .Values.env -}}
{{- range $name, $value := .Values.env }}
- name: {{ $name }}
  value: {{ include "svc-mux.word" $value | quote }}
{{- end -}}
{{- else if .Values.env -}}
{{ toYaml .Values.env }}
{{- end -}}
{{- end -}}

{{- /* A number of a values file is a float, which toString would write as 1e+06. */ -}}
{{- define "svc-mux.word" -}}
{{- if and (kindIs "float64" .) (eq . (floor .)) }}{{ int64 . }}{{ else }}{{ toString . }}{{ end -}}
{{- end -}}

{{- /* The value of one name in this environment; empty if it isn't set. */ -}}
{{- define "svc-mux.envValue" -}}
{{- $wanted := .name -}}
{{- range include "svc-mux.env" .context | fromYamlArray -}}
{{- if and (kindIs "map" .) (eq .name $wanted) -}}{{ .value | default "" }}{{- end -}}
{{- end -}}
{{- end -}}

{{- /* The default mux namespace. The webhook and the reconciler must agree on it. */ -}}
{{- define "svc-mux.defaultMuxNamespace" -}}
{{- include "svc-mux.envValue" (dict "context" . "name" "DEFAULT_MUX_NAMESPACE")
    | default (include "svc-mux.envValue" (dict "context" . "name" "NAMESPACE"))
    | default .Release.Namespace -}}
{{- end -}}

{{- /* The volume with the CA of API servers; empty if the webhook doesn't ask for client certificates. */ -}}
{{- define "svc-mux.clientCA" -}}
{{- with .Values.webhook.clientCA -}}
{{- if .configMap -}}
configMap: {name: {{ .configMap }}, items: [{key: ca.crt, path: ca.crt}]}
{{- else if .secret -}}
secret: {secretName: {{ .secret }}, items: [{key: ca.crt, path: ca.crt}]}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "svc-mux.probe" -}}
httpGet: {path: {{ . }}, port: metrics}
{{- end -}}

{{- /* The environment that every process of the reconciler's binary needs. */ -}}
{{- define "svc-mux.placeArgs" -}}
- --api-prefix={{ .Values.api.prefix }}
- --namespace={{ .Release.Namespace }}
- --default-mux-namespace={{ include "svc-mux.defaultMuxNamespace" . }}
- --lease-name={{ include "svc-mux.fullname" . }}
{{- with (.Values.externalDNS).prefixes }}
- --external-dns-prefixes={{ join "," . }}
{{- end }}
{{- with .Values.rbac.muxNamespaces }}
- --mux-namespaces={{ join "," . }}
{{- end }}
{{- with .Values.logLevel }}
- --log-level={{ . }}
{{- end }}
{{- end -}}

{{- define "svc-mux.reconcilerArgs" -}}
{{ include "svc-mux.placeArgs" . }}
- --predecessors=app.kubernetes.io/name={{ include "svc-mux.name" . }},app.kubernetes.io/instance={{ .Release.Name }},{{ include "svc-mux.electionLabel" . | replace ": " "!=" }}
- --webhook-configuration={{ include "svc-mux.clusterName" . }}
{{- with include "svc-mux.certArgs" . }}
{{ . }}
{{- end }}
{{- if (.Values.gatewayApi).allocator }}
- --gateway-api-allocator
{{- end }}
{{- if (.Values.gatewayApi).implementation }}
- --gateway-api-implementation
{{- end }}
{{- with .Values.portChanges }}
- --port-changes-burst={{ .burst }}
- --port-changes-pace={{ .pace }}
{{- end }}
{{- if include "svc-mux.consoleReviews" . }}
- --console-auth=kubernetes
- --console-address=:{{ include "svc-mux.consolePort" . }}
{{- end }}
{{- with .Values.debugWeb }}
{{- if not .enabled }}
- --console=false
{{- else }}
{{- if .actions.enabled }}
- --console-actions
{{- end }}
{{- if include "svc-mux.gatewayPools" $ }}
- --console-traffic
{{- end }}
{{- if .tls.secretName }}
- --console-cert=/etc/svc-lb-mux/console/tls.crt
- --console-key=/etc/svc-lb-mux/console/tls.key
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* The port on which the console listens in its pod. The Service's port is always 8080. */ -}}
{{- define "svc-mux.consolePort" -}}
{{- include "svc-mux.envValue" (dict "context" . "name" "DEBUG_WEB_PORT") | default "8080" -}}
{{- end -}}

{{- /* True if the API server reviews the console's tokens. */ -}}
{{- define "svc-mux.consoleReviews" -}}
{{- with .Values.debugWeb }}{{ if and .enabled (eq (.auth.mode | default "token") "kubernetes") }}true{{ end }}{{ end -}}
{{- end -}}

{{- /* True if the console has a token of its own. */ -}}
{{- define "svc-mux.consoleToken" -}}
{{- with .Values.debugWeb }}{{ if and .enabled (or .auth.token .auth.existingSecret) }}true{{ end }}{{ end -}}
{{- end -}}

{{- /* True if the console can be reached from outside of its pod. It asks for a token then. */ -}}
{{- define "svc-mux.consoleOpen" -}}
{{- if or (include "svc-mux.consoleToken" .) (include "svc-mux.consoleReviews" .) }}true{{ end -}}
{{- end -}}

{{- define "svc-mux.reconcilerEnv" -}}
{{- with include "svc-mux.goMemoryLimit" .Values.resources -}}
- {name: GOMEMLIMIT, value: {{ . }}}
{{- end }}
{{- if include "svc-mux.consoleToken" . }}
- name: DEBUG_WEB_AUTH_TOKEN
{{- with .Values.debugWeb.auth }}
{{- if .existingSecret }}
  valueFrom: {secretKeyRef: {name: {{ .existingSecret }}, key: token}}
{{- else }}
  value: {{ .token | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- with include "svc-mux.env" . | trim }}
{{ . }}
{{- end }}
{{- end -}}

{{- define "svc-mux.metricsIngress" -}}
- ports: [{port: metrics, protocol: TCP}]
  {{- with .Values.networkPolicy.metricsFrom }}
  from: {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- /* Egress to the API server, by address: neither process looks up a name. */ -}}
{{- define "svc-mux.apiServerEgress" -}}
{{- with .Values.networkPolicy.egress -}}
- ports:
  {{- range .apiServerPorts }}
  - {port: {{ . }}, protocol: TCP}
  {{- end }}
  {{- with .apiServer }}
  to: {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}
{{- end -}}
