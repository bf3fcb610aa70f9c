{{- /*
What the policies of reconciler-policy.yaml share. They read objects as plain maps, dyn(object), so that a field that a
later Kubernetes adds is compared like the others.
*/ -}}

{{- /* A policy's beginning, up to its spec, and its binding. Nobody but the reconciler pays for more than one comparison. */ -}}
{{- define "svc-mux.restraint" -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {{ include "svc-mux.clusterName" .context }}.restraint.{{ .of }}
  labels: {{- include "svc-mux.labels" .context | nindent 4 }}
spec:
  policyName: {{ include "svc-mux.clusterName" .context }}.restraint.{{ .of }}
  validationActions: [Deny]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: {{ include "svc-mux.clusterName" .context }}.restraint.{{ .of }}
  labels: {{- include "svc-mux.labels" .context | nindent 4 }}
spec:
  failurePolicy: Fail
  matchConditions:
  - name: by-the-reconciler
    expression: request.userInfo.username == '{{ include "svc-mux.reconcilerUser" .context }}'
{{- end -}}

{{- /* The object, as a sentence names it. A request for one that is in no namespace says none. */ -}}
{{- define "svc-mux.restraint.name" -}}
(has(request.namespace) ? request.namespace + '/' : '') + request.name
{{- end -}}

{{- /*
Whether muxes may be in the request's namespace. Those that Kubernetes keeps for itself are left out, unless we are
installed there or they are named.
*/ -}}
{{- define "svc-mux.restraint.muxesHere" -}}
{{- with .Values.rbac.muxNamespaces -}}
request.namespace in {{ toJson . }}
{{- else -}}
!(request.namespace in {{ without (list "kube-system" "kube-public" "kube-node-lease") .Release.Namespace | toJson }})
{{- end -}}
{{- end -}}

{{- /* The fields in which two maps differ, as a list; both are names of variables. */ -}}
{{- define "svc-mux.restraint.differ" -}}
{{ .after }}.transformList(key, value, !(key in {{ .before }}) || {{ .before }}[key] != value, key) +
  {{ .before }}.transformList(key, value, !(key in {{ .after }}), key)
{{- end -}}

{{- /* Who our slices say that they are managed by. A label has room for 63 characters. */ -}}
{{- define "svc-mux.restraint.managedBy" -}}
{{- $prefix := .Values.api.prefix -}}
{{- if gt (len $prefix) 63 -}}
{{ printf "%s-%s" (trunc 54 $prefix) (sha256sum $prefix | trunc 8) }}
{{- else -}}
{{ $prefix }}
{{- end -}}
{{- end -}}
