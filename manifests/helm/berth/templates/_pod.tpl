{{/*
The spec of a pod of Berth. Takes a dict: component (also the argument of the command), own (the values of the role), account,
cluster (whether the pod calls the API server), env, envFrom, ports, probes, restartPolicy, mounts, volumes, root (the root
context).
*/}}
{{- define "berth.podSpec" -}}
{{- $own := .own -}}
{{- $env := .env | default list -}}
{{- $mounts := .mounts | default list -}}
{{- $volumes := .volumes | default list -}}
{{- $ca := .root.Values.caBundle -}}
{{- if or $ca.configMap $ca.secret -}}
{{- $items := list (dict "key" ($ca.key | default "ca.crt") "path" "ca.crt") -}}
{{- $source := ternary (dict "configMap" (dict "name" $ca.configMap "items" $items)) (dict "secret" (dict "secretName" $ca.secret "items" $items)) (not (empty $ca.configMap)) -}}
{{- $volumes = append $volumes (merge (dict "name" "ca-bundle") $source) -}}
{{- $mounts = append $mounts (dict "name" "ca-bundle" "mountPath" "/etc/berth/ca" "readOnly" true) -}}
{{- $env = append $env (dict "name" "NODE_EXTRA_CA_CERTS" "value" "/etc/berth/ca/ca.crt") -}}
{{- end -}}
{{- /* The default depends on the hosting mode. */ -}}
{{- if not (kindIs "invalid" .root.Values.builds.enabled) -}}
{{- $env = append $env (dict "name" "BERTH_BUILDS" "value" (toString .root.Values.builds.enabled)) -}}
{{- end -}}
{{- $env = append $env (dict "name" "NODE_OPTIONS" "value" (include "berth.nodeOptions" $own.resources)) -}}
{{- /* A common variable can be a secret setting of some roles only. The other roles do not get it. */ -}}
{{- $extra := list -}}
{{- range $own.extraEnv -}}
{{- if not (include "berth.isForeignSecret" (dict "name" .name "component" $.component "root" $.root)) -}}{{- $extra = append $extra . -}}{{- end -}}
{{- end -}}
{{- $env = (include "berth.joinEnv" (list $env $extra) | fromJson).env -}}
serviceAccountName: {{ .account }}
automountServiceAccountToken: {{ .cluster }}
enableServiceLinks: false
{{- with .restartPolicy }}
restartPolicy: {{ . }}
{{- end }}
{{- with $own.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $own.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $own.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $own.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- $selector := dict "matchLabels" (include "berth.selectorLabels" (dict "component" .component "root" .root) | fromYaml) }}
{{- $several := include "berth.isReplicated" . }}
{{- with $own.topologySpreadConstraints }}
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
{{- with $own.affinity }}
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
{{- with $own.podSecurityContext }}
securityContext: {{- toYaml . | nindent 2 }}
{{- end }}
containers:
  - name: berth
    image: {{ include "berth.image" (dict "image" $own.image "root" .root) | quote }}
    imagePullPolicy: {{ $own.image.pullPolicy }}
    args: [{{ .component }}]
    {{- with .ports }}
    ports: {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- with concat (.envFrom | default list) $own.envFrom }}
    envFrom: {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- with $env }}
    env: {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- range $name, $probe := .probes }}
    {{ $name }}: {{ toJson $probe }}
    {{- end }}
    {{- if has .component (list "api" "all") }}
    # Requests arrive until every node has removed the pod from the Service, so the pod serves for 5 s more.
    lifecycle: { preStop: { sleep: { seconds: 5 } } }
    {{- end }}
    volumeMounts:
      - { name: tmp, mountPath: /tmp }
      {{- with concat $mounts $own.extraVolumeMounts }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
    {{- with $own.securityContext }}
    securityContext: {{- toYaml . | nindent 6 }}
    {{- end }}
    resources: {{- toYaml $own.resources | nindent 6 }}
volumes:
  - { name: tmp, emptyDir: { sizeLimit: 64Mi } }
  {{- with concat $volumes $own.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{/* Whether several pods of a role can run at a time: "true" or nothing. Takes a dict: component, own. */}}
{{- define "berth.isReplicated" -}}
{{- if has .component (list "api" "listener" "operator") -}}
{{- $isScaled := and (eq .component "api") .own.autoscaling.enabled -}}
{{- if gt (ternary .own.autoscaling.minReplicas .own.replicaCount $isScaled | int) 1 -}}true{{- end -}}
{{- end -}}
{{- end }}

{{/* Labels of pods. Takes a dict: component, own (the values of the role), root (the root context). */}}
{{- define "berth.podLabels" -}}
{{ include "berth.ownLabels" . }}
{{- with .own.podLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Annotations of pods. The checksum replaces the pods when their configuration changes. Takes a dict: own, root. */}}
{{- define "berth.podAnnotations" -}}
checksum/config: {{ include "berth.configChecksum" .root }}
{{- if .root.Values.metrics.annotations }}
prometheus.io/scrape: "true"
prometheus.io/port: "9090"
{{- end }}
{{- with .own.podAnnotations }}
{{ toYaml . }}
{{- end }}
{{- end }}
