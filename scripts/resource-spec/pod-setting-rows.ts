import { type FieldRow, type FieldTarget, POD } from './field-row.ts';

/**
 * The Kubernetes fields that the pod settings of source_config set, for docs/resource-spec.md.
 * test/unit/workloads/pod-settings.test.ts checks every row against rendered objects.
 */

const DEPLOYMENTS = 'Deployment <app>-<component>';
const API = 'Deployment <app>-api';
const APP = `${POD}.containers[app]`;

const probes = (shown: string, path = ''): FieldTarget[] =>
  ['startupProbe', 'readinessProbe', 'livenessProbe'].map((probe) => ({
    object: API,
    path: `${APP}.${probe}${path}`,
    shown,
  }));

/** Fields below source_config. The component api stands for every component. */
export const POD_SETTING_ROWS: readonly FieldRow[] = [
  {
    field: 'security_profile',
    targets: [
      {
        object: DEPLOYMENTS,
        path: `${POD}.securityContext.runAsNonRoot`,
        shown: '`true`',
        when: 'restricted',
      },
      { object: DEPLOYMENTS, path: `${APP}.securityContext`, shown: 'as in [Security](#security)' },
    ],
  },
  { field: 'health_checks.api', targets: probes('`httpGet`, `tcpSocket` or `exec`, by `type`') },
  { field: 'health_checks.api.timeout_seconds', targets: probes('as sent', '.timeoutSeconds') },
  {
    field: 'health_checks.api.period_seconds',
    targets: [
      { object: API, path: `${APP}.readinessProbe.periodSeconds` },
      { object: API, path: `${APP}.livenessProbe.periodSeconds`, shown: 'twice the value' },
    ],
  },
  {
    field: 'health_checks.api.failure_threshold',
    targets: [
      { object: API, path: `${APP}.readinessProbe.failureThreshold` },
      { object: API, path: `${APP}.livenessProbe.failureThreshold`, shown: 'twice the value' },
    ],
  },
  {
    field: 'health_checks.api.startup_seconds',
    targets: [
      {
        object: API,
        path: `${APP}.startupProbe.failureThreshold`,
        shown: 'half the value, because the period is 2 s',
      },
    ],
  },
  { field: 'placement.api.node_selector', targets: [{ object: API, path: `${POD}.nodeSelector` }] },
  { field: 'placement.api.tolerations', targets: [{ object: API, path: `${POD}.tolerations` }] },
  { field: 'placement.api.affinity', targets: [{ object: API, path: `${POD}.affinity` }] },
  {
    field: 'gpu.api',
    targets: ['requests', 'limits'].map((list) => ({
      object: API,
      path: `${APP}.resources.${list}`,
      shown: 'the resource with its count',
    })),
  },
  {
    field: 'database.enabled',
    targets: [{ object: API, path: `${APP}.env[DATABASE_URI]`, shown: 'absent', when: 'false' }],
    note: 'DATABASE_POOL_SIZE is absent too, and the objects `<app>-db` do not exist, apart from a volume that is kept.',
  },
  {
    field: 'cache.enabled',
    targets: [{ object: API, path: `${APP}.env[CACHE_URI]`, shown: 'absent', when: 'false' }],
    note: 'The objects `<app>-cache` do not exist.',
  },
];
