{{/*
The rights of src/cluster/operator/rights.ts and src/cluster/listener/rights.ts, and no others (a test compares them). No role
can list or watch Secrets of deployments, because RBAC cannot limit such a right by label.
*/}}
{{- define "berth.operatorRules" -}}
- apiGroups: [berth.dev]
  resources: [manageddeployments]
  verbs: [get, list, watch]
- apiGroups: [berth.dev]
  resources: [manageddeployments/status]
  verbs: [update]
# Needed to set owner references that block the deletion of the owner.
- apiGroups: [berth.dev]
  resources: [manageddeployments/finalizers]
  verbs: [update]
# Tasks. The operator creates those of schedules and release commands, patches only the owners of others, and deletes ended tasks.
- apiGroups: [berth.dev]
  resources: [deploymenttasks]
  verbs: [get, list, watch, create, patch, delete]
# Not a subresource: the admission policy berth-task-origins asks for this right.
- apiGroups: [berth.dev]
  resources: [deploymenttasks/origin]
  verbs: [create]
- apiGroups: [berth.dev]
  resources: [deploymenttasks/status]
  verbs: [update]
- apiGroups: [batch]
  resources: [jobs]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [batch]
  resources: [cronjobs]
  verbs: [list, watch, create, patch, delete]
- apiGroups: [apps]
  resources: [deployments, statefulsets]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [apps]
  resources: [controllerrevisions]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [""]
  resources: [services, serviceaccounts]
  verbs: [get, list, watch, create, patch, delete]
# Volumes of databases. The operator creates and expands volume claims, and never deletes them.
- apiGroups: [""]
  resources: [persistentvolumeclaims]
  verbs: [get, list, watch, create, patch]
- apiGroups: [""]
  resources: [pods]
  verbs: [list, watch]
# Credentials of databases. The operator creates both Secrets once, reads them by name if one is missing, and restores one
# from the other. The operator patches only the owners of these Secrets, if the data is to be deleted with the custom
# resource.
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
- apiGroups: [cert-manager.io]
  resources: [certificates]
  verbs: [get]
{{- end }}

{{- define "berth.listenerRules" -}}
- apiGroups: [berth.dev]
  resources: [manageddeployments]
  verbs: [get, list, watch, create, patch, delete]
# Tasks of the API. The listener patches them to cancel them.
- apiGroups: [berth.dev]
  resources: [deploymenttasks]
  verbs: [get, list, watch, create, patch]
# Not a subresource: the admission policy berth-task-origins asks for this right.
- apiGroups: [berth.dev]
  resources: [deploymenttasks/origin]
  verbs: [create]
# Environments of revisions. The listener writes each Secret once, reads it only to check its owner, and deletes it by name.
- apiGroups: [""]
  resources: [secrets]
  verbs: [create, get, delete]
# Purges delete the objects that remain after the custom resource.
- apiGroups: [""]
  resources: [persistentvolumeclaims]
  verbs: [list, delete]
- apiGroups: [apps]
  resources: [controllerrevisions]
  verbs: [list, delete]
# Logs that clients request from the API.
- apiGroups: [""]
  resources: [pods]
  verbs: [list]
- apiGroups: [""]
  resources: [pods/log]
  verbs: [get]
# Objects of deployments that clients request from the API. Each list has the label of the deployment. No right on Secrets is
# needed, because their names come from pods.
- apiGroups: [apps]
  resources: [deployments, replicasets, statefulsets]
  verbs: [list]
- apiGroups: [""]
  resources: [services, serviceaccounts, events]
  verbs: [list]
- apiGroups: [networking.k8s.io]
  resources: [ingresses, networkpolicies]
  verbs: [list]
- apiGroups: [gateway.networking.k8s.io]
  resources: [httproutes]
  verbs: [list]
- apiGroups: [autoscaling]
  resources: [horizontalpodautoscalers]
  verbs: [list]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [list]
# CPU and memory of pods, if the cluster has a metrics API.
- apiGroups: [metrics.k8s.io]
  resources: [pods]
  verbs: [list]
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
# The uid of a namespace identifies the cluster. The listener also checks whether a namespace exists.
- apiGroups: [""]
  resources: [namespaces]
  verbs: [get]
{{- end }}
{{- end }}
