{{- /* The source of cainjector's CA: the Secret of the serving certificate, so that CA and certificate change together. */ -}}
{{- define "svc-mux.caInjection" -}}
{{- if eq .Values.certs.mode "certManager" -}}
cert-manager.io/inject-ca-from: {{ .Release.Namespace }}/{{ include "svc-mux.webhook" . }}
{{- else if and (eq .Values.certs.mode "provided") .Values.certs.provided.injectCAFromSecret -}}
cert-manager.io/inject-ca-from-secret: {{ .Values.certs.provided.injectCAFromSecret }}
{{- end -}}
{{- end -}}

{{- /* The Certificates that the reconciler watches; none without cert-manager. */ -}}
{{- define "svc-mux.certificates" -}}
{{- if eq .Values.certs.mode "certManager" -}}
{{- $name := include "svc-mux.webhook" . -}}
{{- ternary (printf "%s-ca,%s" $name $name) $name (empty .Values.certs.certManager.issuerRef) -}}
{{- end -}}
{{- end -}}
