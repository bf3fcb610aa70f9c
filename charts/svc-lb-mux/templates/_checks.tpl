{{- /*
Checks that stop an install or an upgrade before anything is written, each with the way out. Helm renders every template
each time, so it is enough that one template includes this.
*/ -}}
{{- define "svc-mux.checks" -}}
{{- include "svc-mux.checkCertManager" . -}}
{{- include "svc-mux.checkProvided" . -}}
{{- include "svc-mux.checkServiceAccount" . -}}
{{- include "svc-mux.checkConsole" . -}}
{{- include "svc-mux.checkMuxNamespaces" . -}}
{{- include "svc-mux.checkMuxName" . -}}
{{- include "svc-mux.checkPrefix" . -}}
{{- include "svc-mux.checkReplicas" . -}}
{{- include "svc-mux.checkEnv" . -}}
{{- include "svc-mux.checkMux" . -}}
{{- include "svc-mux.checkCertTimes" . -}}
{{- include "svc-mux.checkTolerated" . -}}
{{- include "svc-mux.checkClientCA" . -}}
{{- include "svc-mux.checkGateways" . -}}
{{- if and .Values.webhook.predictions.strict (not .Values.webhook.predictions.enabled) -}}
{{- fail "webhook.predictions.strict denies what predictions find, and those are off: set webhook.predictions.enabled=true too" -}}
{{- end -}}
{{- end -}}

{{- /* Without a name, the rights would go to the account `default`, which every pod uses that names no account. */ -}}
{{- define "svc-mux.checkServiceAccount" -}}
{{- if and (not .Values.serviceAccount.create) (not .Values.serviceAccount.name) -}}
{{- fail (printf "serviceAccount.create is false and serviceAccount.name is empty: the reconciler's rights would go to the account \"default\" of namespace %s, and so to every pod there that names no account. Set serviceAccount.name to the ServiceAccount that is made for the reconciler, or serviceAccount.create=true" .Release.Namespace) -}}
{{- end -}}
{{- end -}}

{{- define "svc-mux.checkConsole" -}}
{{- with .Values.debugWeb -}}
{{- if and .enabled (eq (.auth.mode | default "token") "kubernetes") (or .auth.token .auth.existingSecret) -}}
{{- fail "debugWeb.auth.mode is kubernetes, and debugWeb.auth.token or debugWeb.auth.existingSecret is set, which nobody would be asked for: leave the token out, or set debugWeb.auth.mode=token" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "svc-mux.checkClientCA" -}}
{{- with .Values.webhook.clientCA -}}
{{- if and .configMap .secret -}}
{{- fail (printf "webhook.clientCA has the ConfigMap %q and the Secret %q: name one of them" .configMap .secret) -}}
{{- end -}}
{{- if and .names (not (or .configMap .secret)) -}}
{{- fail (printf "webhook.clientCA.names are of certificates that nothing asks for (%s): set webhook.clientCA.configMap or webhook.clientCA.secret too" (join ", " .names)) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "svc-mux.checkMuxNamespaces" -}}
{{- $namespaces := .Values.rbac.muxNamespaces -}}
{{- if and $namespaces .Values.defaultLoadBalancer.create (not (has .Release.Namespace $namespaces)) -}}
{{- fail (printf "rbac.muxNamespaces has not %q, where the default mux is created: the reconciler could not write it. Add the namespace there, or set defaultLoadBalancer.create=false" .Release.Namespace) -}}
{{- end -}}
{{- end -}}

{{- define "svc-mux.checkMuxName" -}}
{{- $name := .Values.defaultLoadBalancer.name -}}
{{- if and .Values.defaultLoadBalancer.create (has $name (list (include "svc-mux.fullname" .) (include "svc-mux.webhook" .))) -}}
{{- fail (printf "defaultLoadBalancer.name %q is the name of another Service of this release: choose another, such as mux" $name) -}}
{{- end -}}
{{- end -}}

{{- /* The webhook and the API server need the same prefix as the reconciler. */ -}}
{{- define "svc-mux.checkPrefix" -}}
{{- $given := include "svc-mux.envValue" (dict "context" . "name" "API_PREFIX") -}}
{{- if and $given (ne $given .Values.api.prefix) -}}
{{- fail (printf "env has API_PREFIX %q, and api.prefix is %q: set api.prefix=%s and leave API_PREFIX out, so that the webhook knows it too" $given .Values.api.prefix $given) -}}
{{- end -}}
{{- end -}}

{{- /* A token that may write the annotation multiplexer can make any Service a mux. */ -}}
{{- define "svc-mux.checkTolerated" -}}
{{- range (.Values.restraint).tolerate -}}
{{- if hasPrefix (printf "%s/" $.Values.api.prefix) . -}}
{{- fail (printf "restraint.tolerate has %q, a key of api.prefix: a stolen token could make a mux of any Service with such keys. Name keys of others alone" .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
