{{- /*
Selects the requests about muxes and channels, in CEL. An error in a match condition denies the request (failurePolicy Fail),
also for other Services. So every field is tested before it is read. oldObject is null on CREATE, object on DELETE;
annotations, labels and loadBalancerClass may be absent.

A Service is a mux if it has our multiplexer annotation with any value but "false". It is a channel if its class is our
prefix, alone or followed by a slash. Classify of package validation has the same rules. So a typing error is refused and
not ignored.
*/ -}}

{{- /* One of the given sides, "[object]" or "[object, oldObject]", is a mux or a channel. */ -}}
{{- define "svc-mux.isOurs" -}}
{{- $prefix := .context.Values.api.prefix -}}
{{ .sides }}.exists(service, service != null && (
  (has(service.metadata.annotations) &&
    service.metadata.annotations[?'{{ $prefix }}/multiplexer'].orValue('false') != 'false') ||
  (has(service.spec.loadBalancerClass) &&
    (service.spec.loadBalancerClass + '/').startsWith('{{ $prefix }}/'))))
{{- end -}}

{{- /* Requests that are excluded for every kind of Service. */ -}}
{{- define "svc-mux.leftOut" -}}
# Otherwise a foreground deletion would hang while no webhook answers: it removes its finalizer by an update.
- name: not-being-deleted
  expression: object == null || !has(object.metadata.deletionTimestamp)
# The reconciler writes only its own decisions, and must always be able to undo them.
- name: not-the-reconciler
  expression: request.userInfo.username != '{{ include "svc-mux.reconcilerUser" . }}'
{{- end -}}

{{- /* Routes that ask for a number. */ -}}
{{- define "svc-mux.routes" -}}
- name: asks-for-a-number
  expression: object != null && has(object.metadata.annotations) && '{{ .Values.api.prefix }}/gateway' in object.metadata.annotations
{{ include "svc-mux.leftOut" . }}
{{- end -}}
