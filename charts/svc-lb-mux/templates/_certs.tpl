{{- /* Where cainjector takes the CA from: the Secret of what is served, so that the two change together. */ -}}
{{- define "svc-mux.caInjection" -}}
{{- if eq .Values.certs.mode "certManager" -}}
cert-manager.io/inject-ca-from: {{ .Release.Namespace }}/{{ include "svc-mux.webhook" . }}
{{- else if and (eq .Values.certs.mode "provided") .Values.certs.provided.injectCAFromSecret -}}
cert-manager.io/inject-ca-from-secret: {{ .Values.certs.provided.injectCAFromSecret }}
{{- end -}}
{{- end -}}

{{- /* The Certificates that the reconciler follows; none where there is no cert-manager. */ -}}
{{- define "svc-mux.certificates" -}}
{{- if eq .Values.certs.mode "certManager" -}}
{{- $name := include "svc-mux.webhook" . -}}
{{- ternary (printf "%s-ca,%s" $name $name) $name (empty .Values.certs.certManager.issuerRef) -}}
{{- end -}}
{{- end -}}
