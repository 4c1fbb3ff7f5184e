{{/*
`helm upgrade --reuse-values` renders with the values of the previous chart, including its defaults. A value that this chart
added is then nil. So templates read values that are newer than a released chart with a default (a test renders with an
older values.yaml).

Labels of an object. Takes a dict: component.
*/}}
{{- define "berth.labels" -}}
app.kubernetes.io/name: berth
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
app.kubernetes.io/part-of: berth
{{- end }}

{{- define "berth.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}{{ .repository }}@{{ .digest }}{{- else -}}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{- end -}}
{{- end -}}
{{- end }}

{{/* Name of the ServiceAccount of a role. If one pod runs all roles, its account has the rights of every role. Takes a dict: role, Values. */}}
{{- define "berth.account" -}}
{{- $role := ternary "all" .role .Values.singlePod -}}
{{- get (.Values.serviceAccounts.names | default dict) $role | default (ternary "berth" (printf "berth-%s" $role) .Values.singlePod) -}}
{{- end }}

{{/* Name of the ClusterRole of a role, and of its binding. Both are cluster-scoped, so each release has its own names. */}}
{{- define "berth.clusterRole" -}}
berth-{{ .role }}-{{ .root.Release.Namespace }}
{{- end }}

{{/* Whether a role runs at all: "true" or nothing. Takes a dict: role, Values. */}}
{{- define "berth.runs" -}}
{{- if or .Values.singlePod (index .Values .role).enabled -}}true{{- end -}}
{{- end }}

{{/* Rejects combinations of values that do not work together. */}}
{{- define "berth.check" -}}
{{- $ca := .Values.caBundle | default dict -}}
{{- if and (.Values.api.ingress).enabled (not .Values.api.ingress.host) -}}{{- fail "api.ingress.enabled needs api.ingress.host, the DNS name of the API" -}}{{- end -}}
{{- if and $ca.configMap $ca.secret -}}{{- fail "caBundle: either configMap or secret, not both" -}}{{- end -}}
{{- if and (or $ca.configMap $ca.secret) (hasKey .Values.env "NODE_EXTRA_CA_CERTS") -}}{{- fail "env: NODE_EXTRA_CA_CERTS is set by caBundle" -}}{{- end -}}
{{- if eq .Values.rbac.scope "namespaces" -}}
{{- if not .Values.namespaces.names -}}{{- fail "rbac.scope: namespaces needs namespaces.names, the list of these namespaces" -}}{{- end -}}
{{- if eq .Values.hosting "cloud" -}}{{- fail "rbac.scope: namespaces: with hosting: cloud the listener creates the namespaces of tenants, which needs a ClusterRole" -}}{{- end -}}
{{- end -}}
{{- if and .Values.namespaces.names (eq .Values.hosting "cloud") -}}{{- fail "namespaces.names: with hosting: cloud each tenant has its own namespace" -}}{{- end -}}
{{- if and (eq .Values.hosting "cloud") (eq (toString .Values.config.BERTH_NETWORK_ISOLATION) "false") -}}{{- fail "config.BERTH_NETWORK_ISOLATION: it cannot be false with hosting: cloud, because the namespaces of tenants deny all traffic that no policy of an app allows" -}}{{- end -}}
{{- if has .Release.Namespace .Values.namespaces.names -}}{{- fail "namespaces.names: deployments cannot use the namespace of Berth itself" -}}{{- end -}}
{{- range $name, $_ := .Values.env -}}
{{- if or (hasPrefix "BERTH_" $name) (eq $name "DATABASE_URL") -}}{{- fail (printf "env: %s is a setting: put it into config or into the Secret" $name) -}}{{- end -}}
{{- end -}}
{{- end }}

{{/*
Data of the ConfigMap. Pods of the previous version read it too, when they restart during an upgrade or after a return to
that version. Settings that the chart sets itself and that the previous version does not know belong into the `env` of the
new pods (decision 0032).
*/}}
{{- define "berth.config" -}}
{{- $data := dict "BERTH_HOSTING" .Values.hosting "BERTH_NAMESPACE" .Release.Namespace -}}
{{- if or .Values.singlePod .Values.api.enabled -}}
{{- $_ := set $data "BERTH_HUB_URL" (printf "http://berth-api.%s.svc%s" .Release.Namespace (ternary "" (printf ":%v" .Values.api.service.port) (eq (int .Values.api.service.port) 80))) -}}
{{- end -}}
{{- with .Values.namespaces.names -}}{{- $_ := set $data "BERTH_NAMESPACES" (join "," .) -}}{{- end -}}
{{- if .Values.policy -}}{{- $_ := set $data "BERTH_POLICY" "/etc/berth/policy/policy.yaml" -}}{{- end -}}
{{- if eq .Values.hosting "cloud" -}}
{{- $_ := set $data "BERTH_BUILD_NAMESPACE" .Values.builds.namespace -}}
{{- $_ := set $data "BERTH_BUILD_BERTH_IMAGE" (include "berth.image" .) -}}
{{- end -}}
{{- toYaml (merge (omit .Values.config "BERTH_MIGRATION_WAIT_SECONDS") .Values.env $data) -}}
{{- end }}

{{/* Hash of everything that a pod reads at its start. A changed hash replaces the pods. */}}
{{- define "berth.configChecksum" -}}
{{- printf "%s\n%s" (include "berth.config" .) .Values.policy | sha256sum -}}
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

{{/*
The spec of a pod of Berth. Takes a dict: role (argument of the command, component), account, cluster (whether the pod calls
the API server), env, envFrom, ports, probes, resources, restartPolicy, mounts, volumes, replicas, own (the values of the
role; its nodeSelector, tolerations, affinity and topologySpreadConstraints take precedence over the common ones), root
(the root context).
*/}}
{{- define "berth.podSpec" -}}
{{- $values := .root.Values -}}
{{- $own := .own | default dict -}}
{{- $env := .env | default list -}}
{{- $mounts := .mounts | default list -}}
{{- $volumes := .volumes | default list -}}
{{- $ca := $values.caBundle | default dict -}}
{{- if or $ca.configMap $ca.secret -}}
{{- $items := list (dict "key" ($ca.key | default "ca.crt") "path" "ca.crt") -}}
{{- $source := ternary (dict "configMap" (dict "name" $ca.configMap "items" $items)) (dict "secret" (dict "secretName" $ca.secret "items" $items)) (not (empty $ca.configMap)) -}}
{{- $volumes = append $volumes (merge (dict "name" "ca-bundle") $source) -}}
{{- $mounts = append $mounts (dict "name" "ca-bundle" "mountPath" "/etc/berth/ca" "readOnly" true) -}}
{{- $env = append $env (dict "name" "NODE_EXTRA_CA_CERTS" "value" "/etc/berth/ca/ca.crt") -}}
{{- end -}}
{{- if not (hasKey ($values.env | default dict) "NODE_OPTIONS") -}}
{{- $env = append $env (dict "name" "NODE_OPTIONS" "value" (include "berth.nodeOptions" .resources)) -}}
{{- end -}}
serviceAccountName: {{ .account }}
automountServiceAccountToken: {{ .cluster }}
enableServiceLinks: false
{{- with .restartPolicy }}
restartPolicy: {{ . }}
{{- end }}
{{- with $values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $own.nodeSelector | default $values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $own.tolerations | default $values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- $selector := dict "matchLabels" (dict "app.kubernetes.io/name" "berth" "app.kubernetes.io/component" .role) }}
{{- $several := gt (int (.replicas | default 1)) 1 }}
{{- with $own.topologySpreadConstraints | default $values.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- range . }}
  - {{- merge (dict) . (dict "labelSelector" $selector) | toYaml | nindent 4 }}
  {{- end }}
{{- else }}
{{- if $several }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: ScheduleAnyway
    labelSelector: {{- toYaml $selector | nindent 6 }}
{{- end }}
{{- end }}
{{- with $own.affinity | default $values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- else }}
{{- if $several }}
affinity:
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          topologyKey: kubernetes.io/hostname
          labelSelector: {{- toYaml $selector | nindent 12 }}
{{- end }}
{{- end }}
securityContext:
  runAsNonRoot: true
  seccompProfile: { type: RuntimeDefault }
  {{- with $values.podSecurityContext }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
containers:
  - name: berth
    image: {{ include "berth.image" .root | quote }}
    imagePullPolicy: {{ $values.image.pullPolicy }}
    args: [{{ .role }}]
    {{- with .ports }}
    ports: {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- with .envFrom }}
    envFrom: {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- with $env }}
    env: {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- range $name, $probe := .probes }}
    {{ $name }}: {{ toJson $probe }}
    {{- end }}
    {{- if has .role (list "api" "all") }}
    # Requests arrive until every node has removed the pod from the Service, so the pod serves for 5 s more.
    lifecycle: { preStop: { sleep: { seconds: 5 } } }
    {{- end }}
    volumeMounts:
      - { name: tmp, mountPath: /tmp }
      {{- with concat $mounts ($values.extraVolumeMounts | default list) }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
    securityContext:
      allowPrivilegeEscalation: false
      readOnlyRootFilesystem: true
      capabilities: { drop: [ALL] }
    resources: {{- toYaml .resources | nindent 6 }}
volumes:
  - { name: tmp, emptyDir: { sizeLimit: 64Mi } }
  {{- with concat $volumes ($values.extraVolumes | default list) }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{/* Labels of pods. Takes a dict: component, root (the root context). */}}
{{- define "berth.podLabels" -}}
{{ include "berth.labels" (dict "component" .component) }}
{{- with .root.Values.podLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Annotations of pods. The checksum replaces the pods when their configuration changes. Takes the root context. */}}
{{- define "berth.podAnnotations" -}}
checksum/config: {{ include "berth.configChecksum" . }}
{{- if (.Values.metrics).annotations }}
prometheus.io/scrape: "true"
prometheus.io/port: "9090"
{{- end }}
{{- with .Values.podAnnotations }}
{{ toYaml . }}
{{- end }}
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
