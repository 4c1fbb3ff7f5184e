{{/* Name of the app in labels. Takes the root context, as all templates here without another remark. */}}
{{- define "berth.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* First part of the names of objects. The longest suffix of a Job has 17 characters, and names of Jobs have at most 63. */}}
{{- define "berth.fullname" -}}
{{- $name := .Values.nameOverride | default .Chart.Name -}}
{{- $default := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- .Values.fullnameOverride | default $default | trunc 46 | trimSuffix "-" }}
{{- end }}

{{/* Name of a cluster-scoped object. It contains the release and its namespace. Takes a dict: role, root (the root context). */}}
{{- define "berth.clusterName" -}}
{{ include "berth.fullname" .root }}-{{ .role }}-{{ .root.Release.Namespace }}
{{- end }}

{{/*
Labels by which objects select the pods of Berth. The label `instance` is not one of them: a namespace holds one release only
(berth.checkReleases), and the selector of an existing Deployment cannot be changed. Takes a dict: component, root.
*/}}
{{- define "berth.selectorLabels" -}}
app.kubernetes.io/name: {{ include "berth.name" .root }}
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end }}

{{/* Labels of pods. helm.sh/chart is not one of them, so that a new chart with the same image restarts no pod. Takes a dict: component, root. */}}
{{- define "berth.ownLabels" -}}
{{ include "berth.selectorLabels" . }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
app.kubernetes.io/part-of: berth
{{- end }}

{{/* Labels of an object. Takes a dict: component, root. */}}
{{- define "berth.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "berth.ownLabels" . }}
{{- end }}

{{/*
The image of a pod: by the digest of the values, else by their tag, else by the digest that `npm run release` writes into
Chart.yaml, else by the version of the chart. A tag of the user thus replaces the digest of the release. Takes a dict: image
(the value), root.
*/}}
{{- define "berth.image" -}}
{{- $released := index (.root.Chart.Annotations | default dict) "berth.dev/image-digest" -}}
{{- if .image.digest -}}{{ .image.repository }}@{{ .image.digest }}
{{- else if .image.tag -}}{{ .image.repository }}:{{ .image.tag }}
{{- else if $released -}}{{ .image.repository }}@{{ $released }}
{{- else -}}{{ .image.repository }}:{{ .root.Chart.AppVersion }}{{- end -}}
{{- end }}

{{/* Name of the ServiceAccount of a role. If one pod runs all roles, its account has the rights of every role. Takes a dict: role, root. */}}
{{- define "berth.account" -}}
{{- $single := .root.Values.singlePod -}}
{{- $own := include "berth.role" (dict "role" (ternary "api" .role $single) "root" .root) | fromJson -}}
{{- $fullname := include "berth.fullname" .root -}}
{{- $own.serviceAccount.name | default (ternary $fullname (printf "%s-%s" $fullname .role) $single) -}}
{{- end }}

{{/* Whether a role runs at all: "true" or nothing. Takes a dict: role, Values. */}}
{{- define "berth.runs" -}}
{{- if or .Values.singlePod (index .Values .role).enabled -}}true{{- end -}}
{{- end }}

{{/* Whether the cluster builds images: "true" or nothing. Takes the root context. */}}
{{- define "berth.builds" -}}
{{- if ternary (eq .Values.hosting "cloud") (eq (toString .Values.builds.enabled) "true") (kindIs "invalid" .Values.builds.enabled) -}}true{{- end -}}
{{- end }}

{{/* DNS at any address: the DNS of the cluster, also on an unprivileged port, and a cache at a link-local address of the node. */}}
{{- define "berth.dnsEgress" -}}
- ports:
    - { port: 53, protocol: UDP }
    - { port: 53, protocol: TCP }
- to:
    - namespaceSelector: {}
  ports:
    - { port: 5353, protocol: UDP }
    - { port: 5353, protocol: TCP }
{{- end }}

{{/* Whether an IPv4 network contains another one: "true" or nothing. Takes a dict: network, other. */}}
{{- define "berth.containsIpv4" -}}
{{- $bits := splitList "/" .network | last | int -}}
{{- if ge (splitList "/" .other | last | int) $bits -}}
{{- $prefixes := list -}}
{{- range list .network .other -}}
{{- $prefix := 0 -}}
{{- range splitList "." (splitList "/" . | first) -}}{{- $prefix = add (mul $prefix 256) (atoi .) -}}{{- end -}}
{{- range until (int (sub 32 $bits)) -}}{{- $prefix = div $prefix 2 -}}{{- end -}}
{{- $prefixes = append $prefixes $prefix -}}
{{- end -}}
{{- if eq (first $prefixes) (last $prefixes) -}}true{{- end -}}
{{- end -}}
{{- end }}

{{/*
All addresses except the metadata services of cloud providers: 169.254.0.0/16 for most of them, and the addresses of Alibaba,
Azure's wire server and Oracle. The service networks of IBM Cloud stay open, as private networks do, because the database of
the hub may be there.
*/}}
{{- define "berth.anywhereEgress" -}}
- to:
    - ipBlock: { cidr: 0.0.0.0/0, except: [169.254.0.0/16, 100.100.100.200/32, 168.63.129.16/32, 192.0.0.192/32] }
    - ipBlock: { cidr: "::/0", except: ["fe80::/10", "fd00:ec2::254/128"] }
    - namespaceSelector: {}
{{- end }}

{{/* The text of a file of the chart. Fails if the file is missing, which Helm treats as empty. Takes a dict: name, Files. */}}
{{- define "berth.file" -}}
{{- $text := .Files.Get (printf "files/%s" .name) -}}
{{- if not (trim $text) -}}{{- fail (printf "files/%s of the chart is missing or empty: copy the complete chart" .name) -}}{{- end -}}
{{- $text -}}
{{- end }}
