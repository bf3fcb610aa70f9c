{{- /* The pools as JSON; empty without gateways. Values that an upgrade reuses may be older than gateways. */ -}}
{{- define "svc-mux.gatewayPools" -}}
{{- with (.Values.gateways).pools }}{{ toJson . }}{{ end -}}
{{- end -}}

{{- /* The gateways' controller: its Deployment, Service, ServiceAccount and lease. */ -}}
{{- define "svc-mux.gateways" -}}
{{ printf "%s-gateways" (include "svc-mux.fullname" . | trunc 54 | trimSuffix "-") }}
{{- end -}}

{{- /* The agents' Service. */ -}}
{{- define "svc-mux.gatewayAgents" -}}
{{ printf "%s-gateway-agents" (include "svc-mux.fullname" . | trunc 48 | trimSuffix "-") }}
{{- end -}}

{{- /* A pool's agents: their DaemonSet, ServiceAccount and Role. The hash keeps names apart that differ only at their end. */ -}}
{{- define "svc-mux.gatewayDaemonSet" -}}
{{- $name := printf "%s-gateway-%s" (include "svc-mux.fullname" .context) .pool -}}
{{- if gt (len $name) 63 }}{{ printf "%s-%s" (trunc 54 $name | trimSuffix "-") (sha256sum $name | trunc 8) }}{{ else }}{{ $name }}{{ end -}}
{{- end -}}

{{- /* The user names of controller and agents at the API server. */ -}}
{{- define "svc-mux.gatewayUser" -}}
{{ printf "system:serviceaccount:%s:%s" .context.Release.Namespace .name }}
{{- end -}}

{{- /* The users of agents on nodes, as JSON: a map from user to pool. */ -}}
{{- define "svc-mux.gatewayAgentUsers" -}}
{{- $users := dict -}}
{{- range .Values.gateways.pools -}}
{{- if ne (.machines | default "nodes") "outside" -}}
{{- $account := include "svc-mux.gatewayDaemonSet" (dict "context" $ "pool" .name) -}}
{{- $_ := set $users (include "svc-mux.gatewayUser" (dict "context" $ "name" $account)) .name -}}
{{- end -}}
{{- end -}}
{{ toJson $users }}
{{- end -}}

{{- /* The file of pools, which the controller reads. It lacks the keys that are for the DaemonSet alone. */ -}}
{{- define "svc-mux.gatewayPoolsFile" -}}
{{- $pools := list -}}
{{- range .Values.gateways.pools -}}
{{- $pools = append $pools (pick . "name" "addresses" "exclude" "routerIDs" "announce" "returnPath" "releaseGrace" "advertInterval" "muxesPerNamespace" "maxCapacity" "probeBackends" "gateways") -}}
{{- end -}}
{{ toYaml (dict "pools" $pools) }}
{{- end -}}

{{- define "svc-mux.gatewayPlaceArgs" -}}
- --api-prefix={{ .Values.api.prefix }}
- --namespace={{ .Release.Namespace }}
{{- with .Values.rbac.muxNamespaces }}
- --mux-namespaces={{ join "," . }}
{{- end }}
{{- with .Values.logLevel }}
- --log-level={{ . }}
{{- end }}
{{- end -}}

{{- define "svc-mux.gatewayAgentArgs" -}}
{{- $pool := .pool -}}
- agent
{{ include "svc-mux.gatewayPlaceArgs" .context }}
- --pool={{ $pool.name }}
- --zone=$(ZONE)
- --probe-address=:{{ .context.Values.gateways.agent.port }}
{{- with $pool.interface }}
- --interface={{ . }}
{{- end }}
{{- with $pool.returnPath }}
- --return-path={{ . }}
{{- end }}
{{- with $pool.announce }}
- --announce={{ . }}
{{- end }}
{{- with $pool.backendNetworks }}
- --backend-networks={{ join "," . }}
{{- end }}
{{- if $pool.vrrpUnicast }}
- --vrrp-unicast
{{- end }}
{{- with $pool.advertInterval }}
- --advert-interval={{ . }}
{{- end }}
{{- with $pool.probeBackends }}
- --probe-backends={{ . }}
{{- end }}
{{- if .context.Values.gateways.agent.goodbye }}
- --goodbye
{{- end }}
{{- end -}}

{{- /* The controller checks its pools too, but its pods would fail to start. */ -}}
{{- define "svc-mux.checkGateways" -}}
{{- $names := list -}}
{{- if and (include "svc-mux.gatewayPools" .) (not (and .Values.images.gateway .Values.gateways.agent .Values.gateways.controller)) -}}
{{- fail "gateways.pools is set, and the other values of gateways are missing: they are newer than the release. Upgrade with --reset-then-reuse-values in place of --reuse-values" -}}
{{- end -}}
{{- range (.Values.gateways).pools -}}
{{- if has .name $names -}}
{{- fail (printf "gateways.pools has %q twice: give each pool another name" .name) -}}
{{- end -}}
{{- $names = append $names .name -}}
{{- if and (ne (.announce | default "vrrp") "none") (not .routerIDs) -}}
{{- fail (printf "gateways.pools: pool %q has no routerIDs: list numbers from 1 to 255 that no other VRRP router on the network has, such as [51, 52], or set announce: none" .name) -}}
{{- end -}}
{{- if and (eq (.returnPath | default "node") "routed") (not .backendNetworks) -}}
{{- fail (printf "gateways.pools: pool %q has returnPath: routed and no backendNetworks. A machine then takes UDP packets from a backend's address and port for replies, and a tenant could make an endpoint with the address of somebody else's client. List the networks of pods, in which no clients are, such as [10.244.0.0/16]" .name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
