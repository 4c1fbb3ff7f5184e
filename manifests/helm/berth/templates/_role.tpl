{{/* Merges two maps, as JSON. Null removes a key, also in the first map. Empty strings and lists change nothing. Takes a dict: base, over. */}}
{{- define "berth.merge" -}}
{{- $result := dict -}}
{{- range $key, $value := .base -}}
{{- if kindIs "map" $value -}}
{{- $_ := set $result $key (include "berth.merge" (dict "base" $value "over" dict) | fromJson) -}}
{{- else if not (kindIs "invalid" $value) -}}
{{- $_ := set $result $key $value -}}
{{- end -}}
{{- end -}}
{{- range $key, $value := .over -}}
{{- if kindIs "invalid" $value -}}
{{- $_ := unset $result $key -}}
{{- else if kindIs "map" $value -}}
{{- $base := index $result $key -}}
{{- if not (kindIs "map" $base) -}}{{- $base = dict -}}{{- end -}}
{{- $_ := set $result $key (include "berth.merge" (dict "base" $base "over" $value) | fromJson) -}}
{{- else if not (and (empty $value) (or (kindIs "string" $value) (kindIs "slice" $value))) -}}
{{- $_ := set $result $key $value -}}
{{- end -}}
{{- end -}}
{{- toJson $result -}}
{{- end }}

{{/* The values that apply to a role, as JSON: its own ones and the common ones. Takes a dict: role, root. */}}
{{- define "berth.role" -}}
{{- $values := .root.Values -}}
{{- $own := index $values .role | default dict -}}
{{- $common := pick $values "replicaCount" "image" "imagePullSecrets" "existingSecret" "existingSecretKeys" "serviceAccount"
      "podAnnotations" "podLabels" "podSecurityContext" "securityContext" "service" "ingress" "resources" "autoscaling"
      "nodeSelector" "tolerations" "affinity" "topologySpreadConstraints" "priorityClassName" -}}
{{- $added := dict "extraEnv" list "envFrom" list "extraVolumes" list "extraVolumeMounts" list -}}
{{- $over := dict -}}
{{- range $key, $value := $own -}}{{- if not (hasKey $added $key) -}}{{- $_ := set $over $key $value -}}{{- end -}}{{- end -}}
{{- $role := include "berth.merge" (dict "base" $common "over" $over) | fromJson -}}
{{- range $key, $_ := $added -}}
{{- $_ := set $role $key (concat (index $values $key | default list) (index $own $key | default list) | default list) -}}
{{- end -}}
{{- /* A tag of the role names another image than the common digest. */ -}}
{{- with $own.image -}}
{{- if and .tag (not .digest) -}}{{- $_ := set $role.image "digest" "" -}}{{- end -}}
{{- end -}}
{{- toJson $role -}}
{{- end }}
