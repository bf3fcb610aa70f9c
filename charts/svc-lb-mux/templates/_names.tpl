{{- /* The application's name, as the selectors have it. */ -}}
{{- define "svc-mux.name" -}}
{{ .Values.nameOverride | default "svc-mux" | trunc 63 | trimSuffix "-" }}
{{- end -}}

{{- /* What everything of a release is named after. */ -}}
{{- define "svc-mux.fullname" -}}
{{- $name := include "svc-mux.name" . -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains $name .Release.Name -}}
{{ .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" }}
{{- end -}}
{{- end -}}

{{- /* The webhook's Service. */ -}}
{{- define "svc-mux.webhook" -}}
{{ printf "%s-webhook" (include "svc-mux.fullname" . | trunc 55 | trimSuffix "-") }}
{{- end -}}

{{- /* Who the reconciler is to the API server. */ -}}
{{- define "svc-mux.reconcilerUser" -}}
{{ printf "system:serviceaccount:%s:%s" .Release.Namespace (include "svc-mux.fullname" .) }}
{{- end -}}

{{- define "svc-mux.labels" -}}
app.kubernetes.io/name: {{ include "svc-mux.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}
