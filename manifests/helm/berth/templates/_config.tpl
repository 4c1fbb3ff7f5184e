{{/*
Data of the ConfigMap. Pods of the previous version read it too, when they restart during an upgrade or after a return to
that version. Settings that the chart sets itself and that the previous version does not know belong into the `env` of the
new pods (decision 0032).
*/}}
{{- define "berth.config" -}}
{{- $data := dict "BERTH_HOSTING" .Values.hosting "BERTH_NAMESPACE" .Release.Namespace -}}
{{- if or .Values.singlePod .Values.api.enabled -}}
{{- $port := (include "berth.role" (dict "role" "api" "root" .) | fromJson).service.port | int -}}
{{- $host := printf "http://%s-api.%s.svc" (include "berth.fullname" .) .Release.Namespace -}}
{{- $_ := set $data "BERTH_HUB_URL" (ternary $host (printf "%s:%d" $host $port) (eq $port 80)) -}}
{{- end -}}
{{- with .Values.namespaces.names -}}{{- $_ := set $data "BERTH_NAMESPACES" (join "," .) -}}{{- end -}}
{{- if .Values.policy -}}{{- $_ := set $data "BERTH_POLICY" "/etc/berth/policy/policy.yaml" -}}{{- end -}}
{{- if include "berth.builds" . -}}
{{- $_ := set $data "BERTH_BUILD_NAMESPACE" .Values.builds.namespace -}}
{{- $_ := set $data "BERTH_BUILD_BERTH_IMAGE" (include "berth.image" (dict "image" .Values.image "root" .)) -}}
{{- end -}}
{{- toYaml (merge (omit .Values.config "BERTH_MIGRATION_WAIT_SECONDS") $data) -}}
{{- end }}

{{/*
Hash of everything that a pod reads at its start. A changed hash replaces the pods. The pods read the entry `access` of the
policy again while they run. A policy that is not valid YAML counts as its text.
*/}}
{{- define "berth.configChecksum" -}}
{{- $policy := .Values.policy | default "" -}}
{{- $parsed := fromYaml $policy -}}
{{- if hasKey $parsed "access" -}}{{- $policy = omit $parsed "access" | toJson -}}{{- end -}}
{{- printf "%s\n%s" (include "berth.config" .) $policy | sha256sum -}}
{{- end }}

{{/*
The settings that a pod reads from the Secret, as JSON: {"names": […], "required": […]}. A pod gets no other ones. Takes a dict:
component (all, api, listener, operator or migrate), root.
*/}}
{{- define "berth.secretNames" -}}
{{- if has .component (list "all" "api") -}}
{{- dict "names" (keys .root.Values.existingSecretKeys | sortAlpha) "required" (list "DATABASE_URL" "BERTH_ENCRYPTION_KEYS") | toJson -}}
{{- else if eq .component "listener" -}}
{{- dict "names" (list "BERTH_LISTENER_KEY" "BERTH_TRACES_HEADERS") "required" (list "BERTH_LISTENER_KEY") | toJson -}}
{{- else if eq .component "operator" -}}
{{- dict "names" (list "BERTH_TRACES_HEADERS") "required" list | toJson -}}
{{- else -}}
{{- dict "names" (list "DATABASE_URL") "required" (list "DATABASE_URL") | toJson -}}
{{- end -}}
{{- end }}

{{/*
Whether a variable is a setting of the Secret that a pod does not read: "true" or nothing. A null in existingSecretKeys does not
make DATABASE_URL another variable. Takes a dict: name, component, root.
*/}}
{{- define "berth.isForeignSecret" -}}
{{- $read := (include "berth.secretNames" . | fromJson).names -}}
{{- $isSecret := or (eq .name "DATABASE_URL") (hasKey .root.Values.existingSecretKeys .name) -}}
{{- if and $isSecret (not (or (has .name $read) (has .component (list "all" "api")))) -}}true{{- end -}}
{{- end }}

{{/* Variables whose values come from the Secret, as JSON: {"env": […]}. Takes a dict: own (the values of the role), component, root. */}}
{{- define "berth.secretEnv" -}}
{{- $own := .own -}}
{{- $secrets := include "berth.secretNames" . | fromJson -}}
{{- $required := $secrets.required -}}
{{- $env := list -}}
{{- range $secrets.names -}}
{{- $reference := dict "name" $own.existingSecret "key" (index $own.existingSecretKeys . | default .) -}}
{{- if not (has . $required) -}}{{- $_ := set $reference "optional" true -}}{{- end -}}
{{- $env = append $env (dict "name" . "valueFrom" (dict "secretKeyRef" $reference)) -}}
{{- end -}}
{{- dict "env" $env | toJson -}}
{{- end }}

{{/* Joins lists of variables, as JSON: {"env": […]}. The last variable of a name wins. Takes a list of lists. */}}
{{- define "berth.joinEnv" -}}
{{- $names := list -}}
{{- $byName := dict -}}
{{- range . -}}{{- range . -}}
{{- $names = append $names .name | uniq -}}
{{- $_ := set $byName .name . -}}
{{- end -}}{{- end -}}
{{- $env := list -}}
{{- range $names -}}{{- $env = append $env (index $byName .) -}}{{- end -}}
{{- dict "env" $env | toJson -}}
{{- end }}

{{/*
Options of V8. The young generation stays small. The old generation may use the memory limit minus 128 MiB, which the young
generation and native memory need, so that V8 collects garbage before the kernel ends the process. With small limits, it may
use half. Takes the resources of the container.
*/}}
{{- define "berth.nodeOptions" -}}
{{- $limit := toString (dig "limits" "memory" "" (. | default dict)) -}}
{{- $mebibytes := 0 -}}
{{- if regexMatch "^[0-9]+Mi$" $limit -}}{{- $mebibytes = int (trimSuffix "Mi" $limit) -}}
{{- else if regexMatch "^[0-9]+Gi$" $limit -}}{{- $mebibytes = mul 1024 (int (trimSuffix "Gi" $limit)) -}}
{{- end -}}
--max-semi-space-size=16
{{- with $mebibytes }} --max-old-space-size={{ max (sub . 128) (div . 2) }}{{- end -}}
{{- end }}
