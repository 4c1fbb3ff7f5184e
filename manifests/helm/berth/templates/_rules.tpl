{{/*
Least rights, exactly those that src/cluster/operator/rights.ts and src/cluster/listener/rights.ts use (a test compares them).
No role lists or watches Secrets of deployments: RBAC cannot limit that by label.
*/}}
{{- define "berth.operatorRules" -}}
- apiGroups: [berth.dev]
  resources: [manageddeployments]
  verbs: [get, list, watch]
- apiGroups: [berth.dev]
  resources: [manageddeployments/status]
  verbs: [update]
# To set owner references that block the owner's deletion.
- apiGroups: [berth.dev]
  resources: [manageddeployments/finalizers]
  verbs: [update]
- apiGroups: [apps]
  resources: [deployments, statefulsets]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [apps]
  resources: [controllerrevisions]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [""]
  resources: [services, serviceaccounts]
  verbs: [get, list, watch, create, patch, delete]
# Data: made and grown, never deleted.
- apiGroups: [""]
  resources: [persistentvolumeclaims]
  verbs: [get, list, watch, create, patch]
- apiGroups: [""]
  resources: [pods]
  verbs: [list, watch]
# The database's credentials: made once, mended from one another; looked at by name when one is missed. Patched are
# owners alone: a custom resource that is to take its data with it.
- apiGroups: [""]
  resources: [secrets]
  verbs: [create, get, patch]
- apiGroups: [""]
  resources: [events]
  verbs: [create, list, patch]
- apiGroups: [autoscaling]
  resources: [horizontalpodautoscalers]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies, ingresses]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [gateway.networking.k8s.io]
  resources: [httproutes]
  verbs: [get, list, watch, create, patch, delete]
{{- end }}

{{- define "berth.listenerRules" -}}
- apiGroups: [berth.dev]
  resources: [manageddeployments]
  verbs: [get, list, watch, create, patch, delete]
# The environment of a revision: written once, read back only to see whose it is, removed by name.
- apiGroups: [""]
  resources: [secrets]
  verbs: [create, get, delete]
# Purge: what outlives the custom resource.
- apiGroups: [""]
  resources: [persistentvolumeclaims]
  verbs: [list, delete]
- apiGroups: [apps]
  resources: [controllerrevisions]
  verbs: [list, delete]
# Logs, for who asks the API for them.
- apiGroups: [""]
  resources: [pods]
  verbs: [list]
- apiGroups: [""]
  resources: [pods/log]
  verbs: [get]
{{- if eq .Values.hosting "cloud" }}
# The namespace of a tenant, with its quota and default-deny policy.
- apiGroups: [""]
  resources: [namespaces]
  verbs: [get, create, patch]
- apiGroups: [""]
  resources: [resourcequotas, limitranges]
  verbs: [create, patch]
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies]
  verbs: [create, patch]
{{- else }}
# Which cluster it is, by the uid of a namespace; whether a namespace is there.
- apiGroups: [""]
  resources: [namespaces]
  verbs: [get]
{{- end }}
{{- end }}
