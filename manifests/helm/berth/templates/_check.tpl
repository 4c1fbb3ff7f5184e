{{/* Values of charts before 2026-11-29, and what replaces them. docs/install.md has the same table (a test compares them). */}}
{{- define "berth.renamedValues" -}}
env: extraEnv, a list of name and value
api.replicas: api.replicaCount
listener.replicas: listener.replicaCount
operator.replicas: operator.replicaCount
api.ingress.host: api.ingress.hosts, a list of host and paths
serviceAccounts.create: serviceAccount.create
serviceAccounts.annotations: serviceAccount.annotations
serviceAccounts.names.api: api.serviceAccount.name
serviceAccounts.names.listener: listener.serviceAccount.name
serviceAccounts.names.operator: operator.serviceAccount.name
serviceAccounts.names.all: api.serviceAccount.name
metrics.podMonitor: podMonitor
{{- end }}

{{/* Rejects the values of charts before 2026-11-29, with the name of each new value. */}}
{{- define "berth.checkRenamed" -}}
{{- $found := list -}}
{{- range $old, $new := include "berth.renamedValues" . | fromYaml -}}
{{- $at := $.Values -}}
{{- range splitList "." $old -}}{{- $at = index (kindIs "map" $at | ternary $at dict) . -}}{{- end -}}
{{- if not (kindIs "invalid" $at) -}}{{- $found = append $found (printf "%s is now %s" $old $new) -}}{{- end -}}
{{- end -}}
{{- if $found -}}
{{- fail (printf "%s. If you used helm upgrade --reuse-values, use --reset-then-reuse-values, because the former option keeps the defaults of the previous chart (docs/install.md, \"Values of earlier charts\")" (join "; " $found)) -}}
{{- end -}}
{{- end }}

{{/* Rejects combinations of values that do not work together. */}}
{{- define "berth.check" -}}
{{- include "berth.checkRenamed" . -}}
{{- $api := include "berth.role" (dict "role" "api" "root" .) | fromJson -}}
{{- $ca := .Values.caBundle -}}
{{- if and $api.ingress.enabled (not $api.ingress.hosts) -}}{{- fail "ingress.enabled needs ingress.hosts, the DNS names of the API" -}}{{- end -}}
{{- if and $api.autoscaling.enabled .Values.singlePod -}}{{- fail "autoscaling.enabled: one pod runs all roles with singlePod, and cannot be scaled" -}}{{- end -}}
{{- if and .Values.podMonitor.enabled .Values.serviceMonitor.enabled -}}{{- fail "podMonitor and serviceMonitor are both enabled, so Prometheus would scrape each pod twice: enable one of them" -}}{{- end -}}
{{- if and $ca.configMap $ca.secret -}}{{- fail "caBundle: either configMap or secret, not both" -}}{{- end -}}
{{- if eq .Values.rbac.scope "namespaces" -}}
{{- if not .Values.namespaces.names -}}{{- fail "rbac.scope: namespaces needs namespaces.names, the list of these namespaces" -}}{{- end -}}
{{- if eq .Values.hosting "cloud" -}}{{- fail "rbac.scope: namespaces: with hosting: cloud the listener creates the namespaces of tenants, which needs a ClusterRole" -}}{{- end -}}
{{- end -}}
{{- if and .Values.namespaces.names (eq .Values.hosting "cloud") -}}{{- fail "namespaces.names: with hosting: cloud each tenant has its own namespace" -}}{{- end -}}
{{- if and (eq .Values.hosting "cloud") (eq (toString .Values.config.BERTH_NETWORK_ISOLATION) "false") -}}{{- fail "config.BERTH_NETWORK_ISOLATION: it cannot be false with hosting: cloud, because the namespaces of tenants deny all traffic that no policy of an app allows" -}}{{- end -}}
{{- if has .Release.Namespace .Values.namespaces.names -}}{{- fail "namespaces.names: deployments cannot use the namespace of Berth itself" -}}{{- end -}}
{{- range $role := list "api" "listener" "operator" "migrate" -}}
{{- range (include "berth.role" (dict "role" $role "root" $) | fromJson).extraEnv -}}
{{- $isSecret := hasKey $.Values.existingSecretKeys .name -}}
{{- if and (or $isSecret (hasPrefix "BERTH_" .name)) (not (and $isSecret .valueFrom)) -}}{{- fail (printf "extraEnv: %s is a setting: put it into config or into the Secret" .name) -}}{{- end -}}
{{- if and (or $ca.configMap $ca.secret) (eq .name "NODE_EXTRA_CA_CERTS") -}}{{- fail "extraEnv: NODE_EXTRA_CA_CERTS is set by caBundle" -}}{{- end -}}
{{- end -}}
{{- range (index $.Values $role | default dict).extraEnv -}}
{{- if include "berth.isForeignSecret" (dict "name" .name "component" $role "root" $) -}}{{- fail (printf "%s.extraEnv: this role does not read the secret %s: set it for a role that does (docs/install.md, \"The Secret\")" $role .name) -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}
