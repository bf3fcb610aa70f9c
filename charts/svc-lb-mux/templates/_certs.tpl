{{- /*
Whatever depends on certs.mode, the maker of the webhook's certificate: its Secret, its CA, the reconciler's flags, checks. Beside it,
certificates.yaml has cert-manager's objects, and reconciler-guard-roles.yaml and reconciler-policy.yaml the rights of each mode.
*/ -}}

{{- /* The Secret with the webhook's serving certificate. */ -}}
{{- define "svc-mux.certSecret" -}}
{{- if eq .Values.certs.mode "provided" -}}
{{ .Values.certs.provided.secretName }}
{{- else -}}
{{ include "svc-mux.webhook" . }}-tls
{{- end -}}
{{- end -}}

{{- /* The source of cainjector's CA: the Secret of the serving certificate, so that CA and certificate change together. */ -}}
{{- define "svc-mux.caInjection" -}}
{{- if eq .Values.certs.mode "certManager" -}}
cert-manager.io/inject-ca-from: {{ .Release.Namespace }}/{{ include "svc-mux.webhook" . }}
{{- else if and (eq .Values.certs.mode "provided") .Values.certs.provided.injectCAFromSecret -}}
cert-manager.io/inject-ca-from-secret: {{ .Values.certs.provided.injectCAFromSecret }}
{{- end -}}
{{- end -}}

{{- /* The CA in the webhook's configuration; none if something else writes it there. */ -}}
{{- define "svc-mux.caBundle" -}}
{{- if eq .Values.certs.mode "provided" -}}
{{ .Values.certs.provided.caBundle }}
{{- end -}}
{{- end -}}

{{- /* The Certificates that the reconciler watches; none without cert-manager. */ -}}
{{- define "svc-mux.certificates" -}}
{{- if eq .Values.certs.mode "certManager" -}}
{{- $name := include "svc-mux.webhook" . -}}
{{- ternary (printf "%s-ca,%s" $name $name) $name (empty .Values.certs.certManager.issuerRef) -}}
{{- end -}}
{{- end -}}

{{- define "svc-mux.certArgs" -}}
{{- if eq .Values.certs.mode "certManager" -}}
- --certificates={{ include "svc-mux.certificates" . }}
{{- else if eq .Values.certs.mode "selfManaged" -}}
- --self-managed-secret={{ include "svc-mux.certSecret" . }}
{{- with .Values.certs.selfManaged }}
- --self-managed-ca-duration={{ .caDuration }}
- --self-managed-duration={{ .duration }}
- --self-managed-renew-before={{ .renewBefore }}
{{- end }}
{{- end -}}
{{- end -}}

{{- /*
`helm template` knows no cluster, and passes: a GitOps pipeline may render before cert-manager is installed. Its list of APIs
lacks apiregistration.k8s.io/v1, which each real cluster has. Argo CD renders in the same way, but passes the APIs of its
cluster.
*/ -}}
{{- define "svc-mux.checkCertManager" -}}
{{- $apis := .Capabilities.APIVersions -}}
{{- if and (eq .Values.certs.mode "certManager") ($apis.Has "apiregistration.k8s.io/v1") (not ($apis.Has "cert-manager.io/v1")) -}}
{{- fail "certs.mode is certManager, and this cluster has no cert-manager (no API cert-manager.io/v1): install cert-manager first, or set certs.mode=selfManaged, which needs none, or certs.mode=provided with a certificate of yours" -}}
{{- end -}}
{{- end -}}

{{- define "svc-mux.checkProvided" -}}
{{- with .Values.certs -}}
{{- if eq .mode "provided" -}}
{{- if not .provided.secretName -}}
{{- fail "certs.mode is provided: set certs.provided.secretName to the Secret with the webhook's tls.crt and tls.key" -}}
{{- end -}}
{{- if not (or .provided.caBundle .provided.injectCAFromSecret) -}}
{{- fail "certs.mode is provided: set certs.provided.caBundle to the CA that signed the certificate, as PEM, or certs.provided.injectCAFromSecret to the Secret that has it as ca.crt" -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "svc-mux.checkCertTimes" -}}
{{- with .Values.certs -}}
{{- if eq .mode "certManager" -}}
{{- include "svc-mux.checkLife" (dict "name" "certs.certManager" "times" .certManager) -}}
{{- else if eq .mode "selfManaged" -}}
{{- include "svc-mux.checkLife" (dict "name" "certs.selfManaged" "times" .selfManaged) -}}
{{- $life := include "svc-mux.seconds" .selfManaged.duration | int64 -}}
{{- if gt (mul 4 (include "svc-mux.seconds" .selfManaged.renewBefore | int64)) (mul 3 $life) -}}
{{- fail (printf "certs.selfManaged.renewBefore %s is more than three quarters of certs.selfManaged.duration %s: write less, such as a third of it" .selfManaged.renewBefore .selfManaged.duration) -}}
{{- end -}}
{{- $authority := include "svc-mux.seconds" .selfManaged.caDuration | int64 -}}
{{- if or (lt $authority $life) (lt $authority 12600) -}}
{{- fail (printf "certs.selfManaged.caDuration %s is too short: write 3h30m or more, which a rotation takes, and no less than certs.selfManaged.duration %s" .selfManaged.caDuration .selfManaged.duration) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* The limits of a certificate's life, the same as cert-manager's. */ -}}
{{- define "svc-mux.checkLife" -}}
{{- $life := include "svc-mux.seconds" .times.duration | int64 -}}
{{- $before := include "svc-mux.seconds" .times.renewBefore | int64 -}}
{{- if lt $life 3600 -}}
{{- fail (printf "%s.duration %s is too short: write 1h or more" .name .times.duration) -}}
{{- end -}}
{{- if or (lt $before 300) (ge $before $life) -}}
{{- fail (printf "%s.renewBefore %s must be 5m or more, and less than %s.duration %s: write such as a third of it" .name .times.renewBefore .name .times.duration) -}}
{{- end -}}
{{- end -}}
