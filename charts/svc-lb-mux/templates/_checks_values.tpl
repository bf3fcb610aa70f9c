{{- /*
Checks of values for which a pattern in the schema isn't enough, or gives no helpful message. With such values, the processes
would never become ready, or muxes would freeze.
*/ -}}
{{- define "svc-mux.checkReplicas" -}}
{{- $replicas := .Values.webhook.replicas -}}
{{- if and (not (kindIs "invalid" $replicas)) (eq (int $replicas) 0) -}}
{{- fail (printf "webhook.replicas is 0: nobody would answer, and no mux and no channel could be made or changed. Set it to 1 or more; to be without admission for a while, delete ValidatingWebhookConfiguration %s, which the next upgrade brings back" (include "svc-mux.clusterName" .)) -}}
{{- end -}}
{{- end -}}

{{- /* The environment of the reconciler. Values from elsewhere (valueFrom) are checked only by the reconciler itself. */ -}}
{{- define "svc-mux.checkEnv" -}}
{{- $switches := list "DRYRUN_MODE" "DEBUG_WEB_ENABLED" "DEBUG_WEB_ACTIONS_ENABLED" -}}
{{- if not .Values.logLevel -}}{{- $switches = append $switches "SVC_LB_MUX_DEBUG" -}}{{- end -}}
{{- range $switches -}}
{{- $value := include "svc-mux.envValue" (dict "context" $ "name" .) -}}
{{- if not (regexMatch "^(?i:1|true|t|yes|y|on|0|false|f|no|n|off|)$" $value) -}}
{{- fail (printf "env has %s %q, which is neither true nor false: write one of them" . $value) -}}
{{- end -}}
{{- end -}}
{{- $port := include "svc-mux.envValue" (dict "context" . "name" "DEBUG_WEB_PORT") -}}
{{- if and $port (or (not (regexMatch "^[0-9]{1,5}$" $port)) (gt (int64 $port) 65535) (eq (int64 $port) 8081)) -}}
{{- fail (printf "env has DEBUG_WEB_PORT %q: write a port up to 65535 that isn't 8081, which probes and metrics have; 8080 is the usual one" $port) -}}
{{- end -}}
{{- $namespace := include "svc-mux.defaultMuxNamespace" . -}}
{{- if not (regexMatch "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$" $namespace) -}}
{{- fail (printf "env has DEFAULT_MUX_NAMESPACE (or NAMESPACE) %q, which no namespace is called: name the one that muxes are in" $namespace) -}}
{{- end -}}
{{- end -}}

{{- define "svc-mux.checkMux" -}}
{{- with .Values.defaultLoadBalancer -}}
{{- if .create -}}
{{- if .portRange -}}{{- include "svc-mux.checkRange" (dict "name" "defaultLoadBalancer.portRange" "value" .portRange) -}}{{- end -}}
{{- $class := .loadBalancerClass | default "" -}}
{{- if hasPrefix (printf "%s/" $.Values.api.prefix) (printf "%s/" $class) -}}
{{- fail (printf "defaultLoadBalancer.loadBalancerClass %q is a channel's: name the provider's class, or none" $class) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* Ranges of ports, as package validation reads them: "20000-20099,21000". */ -}}
{{- define "svc-mux.checkRange" -}}
{{- $name := .name -}}
{{- $before := list -}}
{{- range splitList "," .value -}}
{{- with trim . -}}
{{- $ends := list -}}
{{- if regexMatch "^[1-9][0-9]{0,4}(\\s*-\\s*[1-9][0-9]{0,4})?$" . -}}{{- $ends = regexFindAll "[0-9]+" . -1 -}}{{- end -}}
{{- if or (not $ends) (gt (first ($ends | default (list "0")) | int) 65535) (gt (last ($ends | default (list "0")) | int) 65535) -}}
{{- fail (printf "%s: %q is neither a port nor a range: write numbers from 1 to 65535, such as 20000-20099,21000" $name .) -}}
{{- end -}}
{{- $from := first $ends | int -}}
{{- $to := last $ends | int -}}
{{- if gt $from $to -}}
{{- fail (printf "%s: %q ends before it begins: write %d-%d" $name . $to $from) -}}
{{- end -}}
{{- range $before -}}
{{- if and (le $from .to) (ge $to .from) -}}
{{- fail (printf "%s: %d-%d and %d-%d overlap: write each number once" $name .from .to $from $to) -}}
{{- end -}}
{{- end -}}
{{- $before = append $before (dict "from" $from "to" $to) -}}
{{- end -}}
{{- end -}}
{{- if not $before -}}
{{- fail (printf "%s %q has no port in it: write numbers from 1 to 65535, such as 20000-20099,21000" $name .value) -}}
{{- end -}}
{{- end -}}

{{- /* A duration such as 1h30m in seconds. */ -}}
{{- define "svc-mux.seconds" -}}
{{- $sum := 0 -}}
{{- range regexFindAll "[0-9]+[hms]" . -1 -}}
{{- $unit := dict "h" 3600 "m" 60 "s" 1 -}}
{{- $sum = add $sum (mul (regexFind "[1-9][0-9]*" . | int64) (get $unit (substr (sub (len .) 1 | int) (len .) .))) -}}
{{- end -}}
{{- $sum -}}
{{- end -}}
