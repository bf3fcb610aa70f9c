{{- /*
The common parts of the policies in reconciler-policy.yaml and gateways-policy.yaml. They read objects as plain maps, dyn(object), so that they also
compare fields that a later Kubernetes adds.
*/ -}}

{{- /*
A policy's beginning, up to its spec, and its binding. For requests of other accounts, the policy costs one comparison.
With namespaceAsParam the policy reads the release's namespace as params; once that namespace is gone, it allows all. The account is
the reconciler's, or another user with its name for messages, by. match is a condition for several accounts.
*/ -}}
{{- define "svc-mux.restraint" -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {{ include "svc-mux.clusterName" .context }}.restraint.{{ .of }}
  labels: {{- include "svc-mux.labels" .context | nindent 4 }}
spec:
  policyName: {{ include "svc-mux.clusterName" .context }}.restraint.{{ .of }}
  validationActions: [Deny]
  {{- if .namespaceAsParam }}
  paramRef: {name: {{ .context.Release.Namespace }}, parameterNotFoundAction: Allow}
  {{- end }}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: {{ include "svc-mux.clusterName" .context }}.restraint.{{ .of }}
  labels: {{- include "svc-mux.labels" .context | nindent 4 }}
spec:
  failurePolicy: Fail
  {{- if .namespaceAsParam }}
  paramKind: {apiVersion: v1, kind: Namespace}
  {{- end }}
  matchConditions:
  - name: by-the-{{ .by | default "reconciler" }}
    expression: {{ .match | default (printf "request.userInfo.username == '%s'" (.user | default (include "svc-mux.reconcilerUser" .context))) }}
{{- end -}}

{{- /* The object's name for messages. A request for an object without a namespace has none. */ -}}
{{- define "svc-mux.restraint.name" -}}
(has(request.namespace) ? request.namespace + '/' : '') + request.name
{{- end -}}

{{- /*
True if muxes may be in the request's namespace. The namespaces of Kubernetes itself are excluded, unless the chart is
installed there or rbac.muxNamespaces names them.
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

{{- /*
The keys of labels or annotations whose change is refused on a ledger or on Endpoints, as a list. before and after are names
of variables, ours is a list of keys. If a mutating admission policy changes a write of the reconciler, the change counts as
the reconciler's. So keys of others may be added and changed. They may be removed only if restraint.tolerate names them.
*/ -}}
{{- define "svc-mux.restraint.keys" -}}
({{ include "svc-mux.restraint.differ" . }})
  .filter(key, !(key in {{ .ours }}) && (key.startsWith(variables.prefix) ||
    !(key in {{ .after }}) && !(key in {{ .context.Values.restraint.tolerate | default list | toJson }})))
{{- end -}}

{{- /* Labels and annotations before and after. For a deleted object, after equals before. */ -}}
{{- define "svc-mux.restraint.marks" -}}
{{- range $name, $field := dict "labels" "labels" "notes" "annotations" }}
  - name: {{ $name }}Before
    expression: variables.before.metadata.?{{ $field }}.orValue({})
  - name: {{ $name }}After
    expression: "object == null ? variables.{{ $name }}Before : dyn(object).metadata.?{{ $field }}.orValue({})"
{{- end }}
{{- end -}}

{{- define "svc-mux.restraint.marksRule" }}
  - reason: Forbidden
    expression: variables.labels.size() == 0 && variables.notes.size() == 0
    messageExpression: |-
      'the reconciler may not write the ' + (variables.labels.size() > 0 ? 'label ' : 'annotation ') + (variables.labels + variables.notes).join(', ') +
        ' of ' + variables.is + ': {{ include "svc-mux.restraint.tolerateHint" . }}'
{{- end -}}

{{- /* The end of a refusal of a label or an annotation: a mutating admission policy may have added it. */ -}}
{{- define "svc-mux.restraint.tolerateHint" -}}
if another admission policy or webhook changed it, name its key in restraint.tolerate of the chart
{{- end -}}

{{- /* The value of the managed-by label on our slices. A label has room for 63 characters. */ -}}
{{- define "svc-mux.restraint.managedBy" -}}
{{- $prefix := .Values.api.prefix -}}
{{- if gt (len $prefix) 63 -}}
{{ printf "%s-%s" (trunc 54 $prefix) (sha256sum $prefix | trunc 8) }}
{{- else -}}
{{ $prefix }}
{{- end -}}
{{- end -}}
