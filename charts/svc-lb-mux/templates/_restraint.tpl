{{- /*
What the policies of reconciler-policy.yaml share. They read objects as plain maps, dyn(object), so that a field that a
later Kubernetes adds is compared like the others.
*/ -}}

{{- /*
A policy's beginning, up to its spec, and its binding. Nobody but the reconciler pays for more than one comparison.
With namespaceAsParam the policy reads the release's namespace as params; once that namespace is gone, it allows all.
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

{{- /*
The keys of labels or annotations whose change is refused on a ledger or on Endpoints, as a list. before and after are names
of variables, ours is a list of keys. A mutating admission policy changes what the reconciler writes, and the change counts
as the reconciler's: so others' keys may come and change. They may go only if restraint.tolerate names them.
*/ -}}
{{- define "svc-mux.restraint.keys" -}}
({{ include "svc-mux.restraint.differ" . }})
  .filter(key, !(key in {{ .ours }}) && (key.startsWith(variables.prefix) ||
    !(key in {{ .after }}) && !(key in {{ .context.Values.restraint.tolerate | default list | toJson }})))
{{- end -}}

{{- /* Labels and annotations before and after. What is deleted keeps those that it had. */ -}}
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

{{- /* Who our slices say that they are managed by. A label has room for 63 characters. */ -}}
{{- define "svc-mux.restraint.managedBy" -}}
{{- $prefix := .Values.api.prefix -}}
{{- if gt (len $prefix) 63 -}}
{{ printf "%s-%s" (trunc 54 $prefix) (sha256sum $prefix | trunc 8) }}
{{- else -}}
{{ $prefix }}
{{- end -}}
{{- end -}}
