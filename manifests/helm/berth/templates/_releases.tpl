{{/* What a release works on, as annotations of its RoleBindings: other releases read them (berth.checkReleases). */}}
{{- define "berth.scope" -}}
berth.dev/namespaces: {{ join "," .Values.namespaces.names | default "*" | quote }}
berth.dev/installs-crd: {{ .Values.crds.install | quote }}
{{- end }}

{{/*
RoleBindings of other releases of Berth in the cluster, as JSON: {"items": [{"release", "namespace", "works", "installs"}]}. Without a cluster
(helm template) there are none.
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
{{- range $bindings -}}
{{- $labels := .metadata.labels | default dict -}}
{{- $annotations := .metadata.annotations | default dict -}}
{{- $release := get $labels "app.kubernetes.io/instance" -}}
{{- $subject := first (.subjects | default (list dict)) -}}
{{- $namespace := $subject.namespace | default "" -}}
{{- /* Bindings of a chart before 2026-11-29 have neither the label nor the annotations. */ -}}
{{- $isOwn := and (eq $namespace $.Release.Namespace) (or (not $release) (eq $release $.Release.Name)) -}}
{{- if and (eq (get $labels "app.kubernetes.io/part-of") "berth") (not $isOwn) -}}
{{- $works := get $annotations "berth.dev/namespaces" | default .metadata.namespace -}}
{{- $found = append $found (dict "release" ($release | default "berth") "namespace" $namespace "works" $works "installs" (eq (get $annotations "berth.dev/installs-crd") "true")) -}}
{{- end -}}
{{- end -}}
{{- dict "items" (uniq $found) "isConnected" (not (empty $bindings)) | toJson -}}
{{- end }}

{{/* Rejects a release that would disturb another one: two operators must not work in one namespace. */}}
{{- define "berth.checkReleases" -}}
{{- $mine := .Values.namespaces.names -}}
{{- $works := or (include "berth.runs" (dict "role" "listener" "Values" .Values)) (include "berth.runs" (dict "role" "operator" "Values" .Values)) -}}
{{- $others := include "berth.otherReleases" . | fromJson -}}
{{- range $others.items | default list -}}
{{- $who := printf "the release %s in the namespace %s" .release .namespace -}}
{{- if eq .namespace $.Release.Namespace -}}{{- fail (printf "%s: a namespace can hold one release of Berth only, because operators of one namespace share a Lease; install this release in another namespace" $who) -}}{{- end -}}
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
