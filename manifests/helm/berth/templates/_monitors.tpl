{{/*
What serviceMonitor and podMonitor have in common. A release of an earlier chart with --reuse-values has neither value.

The endpoint that Prometheus scrapes. Takes the values of the monitor.
*/}}
{{- define "berth.metricsEndpoint" -}}
port: metrics
path: /metrics
interval: {{ .interval | default "30s" }}
{{- with .scrapeTimeout }}
scrapeTimeout: {{ . }}
{{- end }}
{{- with .relabelings }}
relabelings: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .metricRelabelings }}
metricRelabelings: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Metadata of a monitor. Takes a dict: root (the root context), monitor (the values of the monitor). */}}
{{- define "berth.monitorMetadata" -}}
name: berth
namespace: {{ .root.Release.Namespace }}
labels:
  {{- include "berth.labels" (dict) | nindent 2 }}
  {{- with .monitor.labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .monitor.annotations }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
