{{- /*
Which requests concern us, in CEL. An error in a match condition denies the request (failurePolicy Fail), and would
deny it to Services that we have nothing to do with: so nothing is read here that isn't known to be there. oldObject
is null on CREATE, object on DELETE; annotations, labels and loadBalancerClass may be absent.

A Service is a mux if it has our multiplexer annotation, saying anything but "false"; a channel if its class is our
prefix, bare or followed by a slash. Both are validation's Classify, so that a slip is refused, not ignored.
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

{{- /* What is left out, whatever it is. */ -}}
{{- define "svc-mux.leftOut" -}}
# Else a foreground deletion, which removes its finalizer by an update, would hang while nobody answers.
- name: not-being-deleted
  expression: object == null || !has(object.metadata.deletionTimestamp)
# It writes only what it has decided, and must be able to take back what it has written.
- name: not-the-reconciler
  expression: request.userInfo.username != '{{ include "svc-mux.reconcilerUser" . }}'
{{- end -}}
