{{/* What a release works on, as annotations of its RoleBindings: other releases read them (berth.checkReleases). */}}
{{- define "berth.scope" -}}
berth.dev/namespaces: {{ join "," .Values.namespaces.names | default "*" | quote }}
berth.dev/installs-crd: {{ .Values.crds.install | quote }}
{{- end }}

{{/*
Other releases of Berth in the cluster, as JSON: {"items": [{"release", "namespace", "works", "installs"}]}. RoleBindings show
where a release works. A release with only the API has none, so Deployments show which release the namespace of this one has.
Without a cluster (helm template), the list is empty.
*/}}
{{- define "berth.otherReleases" -}}
{{- $rbac := "rbac.authorization.k8s.io/v1" -}}
{{- $bindings := list -}}
{{- if .Values.rbac.checkAllNamespaces -}}
{{- $bindings = (lookup $rbac "RoleBinding" "" "").items | default list -}}
{{- else -}}
{{- range prepend .Values.namespaces.names .Release.Namespace -}}
{{- $bindings = concat $bindings ((lookup $rbac "RoleBinding" . "").items | default list) -}}
{{- end -}}
{{- end -}}
{{- $found := list -}}
{{- range concat $bindings ((lookup "apps/v1" "Deployment" .Release.Namespace "").items | default list) -}}
{{- $labels := .metadata.labels | default dict -}}
{{- $annotations := .metadata.annotations | default dict -}}
{{- $isBinding := hasKey . "roleRef" -}}
{{- $namespace := ternary (first (.subjects | default (list dict))).namespace .metadata.namespace $isBinding | default "" -}}
{{- /* Objects of a chart before 2026-11-29 do not have the label, and those of kubectl do not have the annotation either. */ -}}
{{- $release := get $labels "app.kubernetes.io/instance" | default (get $annotations "meta.helm.sh/release-name") -}}
{{- $isOwn := and (eq $namespace $.Release.Namespace) (or (not $release) (eq $release $.Release.Name)) -}}
{{- /* The app of a tenant can be named berth. */ -}}
{{- $isBerth := and (eq (get $labels "app.kubernetes.io/part-of") "berth") (ne (get $labels "app.kubernetes.io/managed-by") "berth") -}}
{{- if and $isBerth (not $isOwn) -}}
{{- $item := dict "release" ($release | default "berth") "namespace" $namespace "works" "" "installs" false -}}
{{- if and $isBinding (hasKey $annotations "berth.dev/namespaces") -}}
{{- $item = merge (dict "works" (get $annotations "berth.dev/namespaces") "installs" (eq (get $annotations "berth.dev/installs-crd") "true")) $item -}}
{{- else if $isBinding -}}
{{- $item = merge (include "berth.olderScope" (dict "namespace" $namespace "bound" .metadata.namespace "root" $) | fromJson) $item -}}
{{- end -}}
{{- $found = append $found $item -}}
{{- end -}}
{{- end -}}
{{- dict "items" (uniq $found) "isConnected" (not (empty $bindings)) | toJson -}}
{{- end }}

{{/*
What a release of a chart before 2026-11-29 works on, as JSON: {"works", "installs"}. The RoleBindings of such a release do not
state it. The ConfigMap of the release names its namespaces, and the definition names the release that installed it. Takes a
dict: namespace (of the release), bound (the namespace of the RoleBinding), root.
*/}}
{{- define "berth.olderScope" -}}
{{- $scope := dict "works" .bound "installs" false -}}
{{- if eq .bound .namespace -}}
{{- $config := lookup "v1" "ConfigMap" .namespace "berth" -}}
{{- $_ := set $scope "works" (dig "data" "BERTH_NAMESPACES" "*" $config) -}}
{{- if .root.Values.crds.install -}}
{{- $definition := lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" "manageddeployments.berth.dev" -}}
{{- $_ := set $scope "installs" (eq .namespace (dig "metadata" "annotations" "meta.helm.sh/release-namespace" "" $definition)) -}}
{{- end -}}
{{- end -}}
{{- toJson $scope -}}
{{- end }}

{{/* Rejects a release that would disturb another one: two operators must not work in one namespace. */}}
{{- define "berth.checkReleases" -}}
{{- $mine := .Values.namespaces.names -}}
{{- $works := or (include "berth.runs" (dict "role" "listener" "Values" .Values)) (include "berth.runs" (dict "role" "operator" "Values" .Values)) -}}
{{- $others := include "berth.otherReleases" . | fromJson -}}
{{- range $others.items | default list -}}
{{- $who := printf "the release %s in the namespace %s" .release .namespace -}}
{{- if eq .namespace $.Release.Namespace -}}{{- fail (printf "%s: a namespace can hold one release of Berth only, because the Services of both would select the same pods, and their operators would share a Lease; install this release in another namespace" $who) -}}{{- end -}}
{{- if and .installs $.Values.crds.install -}}{{- fail (printf "crds.install: %s installs the custom resource definition already; set crds.install=false for this release" $who) -}}{{- end -}}
{{- $shared := list -}}
{{- if eq .works "*" -}}{{- $shared = $mine | default (list "all namespaces") -}}
{{- else if not $mine -}}{{- $shared = splitList "," .works -}}
{{- else -}}{{- range splitList "," .works -}}{{- if has . $mine -}}{{- $shared = append $shared . -}}{{- end -}}{{- end -}}
{{- end -}}
{{- if and $works $shared -}}{{- fail (printf "namespaces.names: %s works in %s, and this release would work there too; two operators must not work in one namespace, so set namespaces.names of both releases to different namespaces" $who (join ", " $shared)) -}}{{- end -}}
{{- end -}}
{{- if and $works $others.isConnected $.Values.rbac.checkAllNamespaces (not .Values.crds.install) -}}
{{- if not (lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" "manageddeployments.berth.dev") -}}{{- fail "crds.install: no release has installed the custom resource definition; set crds.install=true for one release, or install the definition before (docs/install.md, \"Go back\")" -}}{{- end -}}
{{- end -}}
{{- end }}
