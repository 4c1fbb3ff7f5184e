import { type FieldRow, POD } from './field-row.ts';

/**
 * The Kubernetes fields that the run settings of source_revision_config set: the second table of docs/resource-spec.md.
 * test/unit/workloads/field-rows.test.ts checks every row against rendered objects.
 */

const APP = `${POD}.containers[app]`;
const EACH = 'Deployment <app>-<component>';

export const RUN_SETTINGS_ROWS: readonly FieldRow[] = [
  {
    field: 'port',
    targets: [
      { object: 'Deployment <app>-api', path: `${APP}.ports[http].containerPort` },
      { object: EACH, path: `${APP}.env[PORT].value`, shown: 'as text', value: String },
    ],
    note: 'Service, probes and routes refer to the port by its name. The NetworkPolicy of an isolated app allows this port, and the port of the former revision until it is replaced.',
  },
  { field: 'commands.<component>.command', targets: [{ object: EACH, path: `${APP}.command` }] },
  { field: 'commands.<component>.args', targets: [{ object: EACH, path: `${APP}.args` }] },
  {
    field: 'env[].value',
    targets: [{ object: EACH, path: `${APP}.env[<name>].value` }],
    note: 'After the variables of Berth and the references. DATABASE_URI_CUSTOM and CACHE_URI_CUSTOM also are DATABASE_URI and CACHE_URI.',
  },
  {
    field: 'secret_references[].secret_name',
    targets: [{ object: EACH, path: `${APP}.env[<name>].valueFrom.secretKeyRef.name` }],
    note: 'Beside `secrets`, not in `source_revision_config`. After the variables of Berth. The annotation `berth.dev/secret-references` of the pods is a keyed hash of the values.',
  },
  {
    field: 'secret_references[].secret_key',
    targets: [{ object: EACH, path: `${APP}.env[<name>].valueFrom.secretKeyRef.key` }],
  },
];
