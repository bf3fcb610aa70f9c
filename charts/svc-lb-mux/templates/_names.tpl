{{- /* The application's name in the selectors. */ -}}
{{- define "svc-mux.name" -}}
{{ .Values.nameOverride | default "svc-mux" | trunc 63 | trimSuffix "-" }}
{{- end -}}

{{- /* The base of all names of a release. */ -}}
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

{{- /*
The name of objects without a namespace. Releases with one name in two namespaces must get different names. Neither part has
a dot, so two different pairs never give the same name.
*/ -}}
{{- define "svc-mux.clusterName" -}}
{{ include "svc-mux.fullname" . }}.{{ .Release.Namespace }}
{{- end -}}

{{- /* The webhook's Deployment, Service and ServiceAccount. */ -}}
{{- define "svc-mux.webhook" -}}
{{ printf "%s-webhook" (include "svc-mux.fullname" . | trunc 55 | trimSuffix "-") }}
{{- end -}}

{{- /*
True if the default mux exists, has the setting `placeholder: remove`, and has no placeholder. helm template and Argo CD can't
see that.
*/ -}}
{{- define "svc-mux.unheld" -}}
{{- $mux := .Values.defaultLoadBalancer -}}
{{- $placeholder := get ($mux.annotations | default dict) (printf "%s/placeholder" .Values.api.prefix) -}}
{{- if eq ($placeholder | default "" | trim) "remove" -}}
{{- with (lookup "v1" "Service" .Release.Namespace $mux.name).spec -}}
{{- $held := false -}}
{{- range .ports -}}{{- if and (eq (int .port) 101) (eq (.protocol | default "TCP") "TCP") -}}{{- $held = true -}}{{- end -}}{{- end -}}
{{- not $held -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* True if the default mux is on a pool of gateways. */ -}}
{{- define "svc-mux.isOnGateways" -}}
{{- if hasPrefix (printf "gateway.%s/" .Values.api.prefix) (.Values.defaultLoadBalancer.loadBalancerClass | default "") -}}
true
{{- end -}}
{{- end -}}

{{- /* The default mux's max-ports. 100 is GKE's limit, so `auto` sets none for a mux on gateways. */ -}}
{{- define "svc-mux.maxPorts" -}}
{{- $stated := .Values.defaultLoadBalancer.maxPorts -}}
{{- if ne (toString $stated) "auto" -}}
{{- with $stated -}}{{- include "svc-mux.word" . -}}{{- end -}}
{{- else if not (include "svc-mux.isOnGateways" .) -}}
100
{{- end -}}
{{- end -}}

{{- /*
The default mux's annotations. Ours take precedence, then those in the values, then those that its provider needs. A mux on gateways has no
provider.
*/ -}}
{{- define "svc-mux.muxAnnotations" -}}
{{- $given := .mux.annotations | default dict -}}
{{- $needs := dict -}}
{{- if .isOnGateways -}}
{{- $given = omit $given "cloud.google.com/l4-rbs" -}}
{{- else -}}
{{- with .mux.provider -}}
{{- $_ := set $.ours (printf "%s/provider" $.prefix) . -}}
{{- if eq . "gke" -}}
{{- $needs = dict "cloud.google.com/l4-rbs" "enabled" -}}
{{- else -}}
{{- $given = omit $given "cloud.google.com/l4-rbs" -}}
{{- end -}}
{{- if eq . "aws" -}}
{{- $needs = dict "service.beta.kubernetes.io/aws-load-balancer-type" "external" "service.beta.kubernetes.io/aws-load-balancer-nlb-target-type" "instance" -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- merge .ours $given $needs | toYaml -}}
{{- end -}}

{{- /* The pod of `helm test`, and its ServiceAccount. */ -}}
{{- define "svc-mux.test" -}}
{{ printf "%s-test" (include "svc-mux.fullname" . | trunc 58 | trimSuffix "-") }}
{{- end -}}

{{- define "svc-mux.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (include "svc-mux.fullname" .) -}}
{{- end -}}

{{- /* The reconciler's user name at the API server. */ -}}
{{- define "svc-mux.reconcilerUser" -}}
{{ printf "system:serviceaccount:%s:%s" .Release.Namespace (include "svc-mux.serviceAccount" .) }}
{{- end -}}

{{- /* The selector of the pods of the reconciler's Deployment. The original has the same selector. */ -}}
{{- define "svc-mux.selector" -}}
app.kubernetes.io/name: {{ include "svc-mux.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- /*
The label of the reconciler's pods. Pods of the original and of earlier versions lack it. It isn't part of the
Deployment's selector, which can't change.
*/ -}}
{{- define "svc-mux.electionLabel" -}}
svc-mux.nowake.ai/leader-election: lease
{{- end -}}

{{- define "svc-mux.labels" -}}
{{ include "svc-mux.selector" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- /* The selector of another part of the release. The reconciler's selector doesn't match its pods and Services. */ -}}
{{- define "svc-mux.partSelector" -}}
{{- /* 55 fits webhook, and selectors can't change. A longer part leaves less of a label's 63 characters. */ -}}
{{- $room := min 55 (sub 62 (len .part)) | int -}}
app.kubernetes.io/name: {{ printf "%s-%s" (include "svc-mux.name" .context | trunc $room | trimSuffix "-") .part }}
app.kubernetes.io/instance: {{ .context.Release.Name }}
{{- end -}}

{{- define "svc-mux.partLabels" -}}
{{ include "svc-mux.partSelector" . }}
app.kubernetes.io/managed-by: {{ .context.Release.Service }}
{{- end -}}

{{- /* The release of an image that is named by digest, for `svcmux version`. A label can't have a plus sign. */ -}}
{{- define "svc-mux.versionLabel" -}}
app.kubernetes.io/version: {{ .Chart.AppVersion | replace "+" "_" | quote }}
{{- end -}}
