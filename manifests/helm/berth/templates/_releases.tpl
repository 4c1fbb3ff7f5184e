{{/* What a release works on, as annotations of its RoleBindings: other releases read them (berth.checkReleases). */}}
{{- define "berth.scope" -}}
berth.dev/namespaces: {{ join "," .Values.namespaces.names | default "*" | quote }}
berth.dev/installs-crd: {{ .Values.crds.install | quote }}
{{- end }}

{{- define "berth.checkReleases" -}}
{{- end }}
