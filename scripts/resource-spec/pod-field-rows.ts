import { VOLUME_KINDS } from '../../src/domain/kubernetes/volume-kinds.ts';
import { type FieldRow, type FieldTarget, POD } from './field-row.ts';

const DEPLOYMENTS = 'Deployment <app>-<component>';

const METADATA: readonly FieldRow[] = (['labels', 'annotations'] as const).map((field) => ({
  field,
  targets: [
    { object: DEPLOYMENTS, path: `spec.template.metadata.${field}` },
    { object: DEPLOYMENTS, path: `metadata.${field}` },
  ],
  note: "Only on app pods and their Deployments, in addition to Berth's own.",
}));

/** Members of each entry of a list in the pod. They are passed through unchanged. */
function passedThrough(list: string, members: readonly string[], path: string): FieldRow[] {
  return members.map((member) => ({
    field: `${list}[].${member}`,
    targets: [{ object: DEPLOYMENTS, path: `${path}.${member}` }],
  }));
}

/** Turns `env[].value` of a field into the path `env[<name>].value`. */
function asPath(member: string): string {
  return member.replaceAll('[]', '[<name>]');
}

/** The whole list. The rows of its members follow it. */
function wholeList(field: string, path: string, note: string): FieldRow {
  return { field, targets: [{ object: DEPLOYMENTS, path }], note };
}

const VOLUMES: readonly FieldRow[] = [
  wholeList(
    'volumes',
    `${POD}.volumes`,
    'Passed through unchanged. A volume without a source becomes `emptyDir: {}`.',
  ),
  ...passedThrough('volumes', ['name', ...VOLUME_KINDS], `${POD}.volumes[<name>]`),
];

const MOUNT_MEMBERS = ['name', 'mountPath', 'subPath', 'mountPropagation', 'readOnly', 'subPathExpr'];

const VOLUME_MOUNTS: readonly FieldRow[] = [
  wholeList(
    'volume_mounts',
    `${POD}.containers[app].volumeMounts`,
    'These are the mounts of the app container.',
  ),
  ...passedThrough('volume_mounts', MOUNT_MEMBERS, `${POD}.containers[app].volumeMounts[<name>]`),
];

const CONTAINER_MEMBERS = [
  'name',
  'image',
  'imagePullPolicy',
  'command',
  'args',
  'workingDir',
  'env',
  'env[].name',
  'env[].value',
  'env[].valueFrom',
  'envFrom',
  'resources',
  'resources.limits',
  'resources.requests',
  'volumeMounts',
  ...MOUNT_MEMBERS.map((member) => `volumeMounts[].${member}`),
  'securityContext',
  'restartPolicy',
];

const MEMBER_NOTES: Readonly<Record<string, string>> = {
  imagePullPolicy:
    'If absent: `Always` for the tag `latest` or no tag, otherwise `IfNotPresent`. In cloud mode, it is always `Always`.',
  securityContext: 'Berth fills in absent fields: see [Security](#security).',
};

const INIT_RESTART =
  'With `Always`, the container is a native sidecar, at its position among the init containers.';
const SIDECAR_RESTART =
  'With `Always`, the container is a native sidecar that starts before all init containers.';

function containerRows(
  list: string,
  targets: readonly Omit<FieldTarget, 'object'>[],
  restart: string,
): FieldRow[] {
  return CONTAINER_MEMBERS.map((member) => {
    const note = member === 'restartPolicy' ? restart : MEMBER_NOTES[member];
    return {
      field: `${list}[].${member}`,
      targets: targets.map((target) => ({
        ...target,
        object: DEPLOYMENTS,
        path: `${target.path}.${asPath(member)}`,
      })),
      ...(note === undefined ? {} : { note }),
    };
  });
}

const CONTAINERS: readonly FieldRow[] = [
  wholeList('init_containers', `${POD}.initContainers`, 'They keep the order of the list.'),
  ...containerRows('init_containers', [{ path: `${POD}.initContainers[<name>]` }], INIT_RESTART),
  {
    field: 'sidecars',
    targets: [{ object: DEPLOYMENTS, path: `${POD}.containers` }],
    note: 'Sidecars follow the container `app`. Native sidecars precede the init containers.',
  },
  ...containerRows(
    'sidecars',
    [
      {
        path: `${POD}.containers[<name>]`,
        when: 'restartPolicy is not `Always`',
        holds: ({ restartPolicy }) => restartPolicy !== 'Always',
      },
      {
        path: `${POD}.initContainers[<name>]`,
        when: 'restartPolicy is `Always`',
        holds: ({ restartPolicy }) => restartPolicy === 'Always',
      },
    ],
    SIDECAR_RESTART,
  ),
];

/** The fields of app pods other than sizes, in the order of the contract. */
export const POD_FIELD_ROWS: readonly FieldRow[] = [
  ...METADATA,
  {
    field: 'service_account_name',
    targets: [{ object: DEPLOYMENTS, path: `${POD}.serviceAccountName` }],
    note: 'This ServiceAccount must exist. If the field is absent, Berth creates a ServiceAccount `<app>`. No token is mounted in either case.',
  },
  {
    field: 'image_pull_secrets',
    targets: [{ object: DEPLOYMENTS, path: `${POD}.imagePullSecrets` }],
  },
  ...passedThrough('image_pull_secrets', ['name'], `${POD}.imagePullSecrets[<name>]`),
  ...VOLUMES,
  ...VOLUME_MOUNTS,
  ...CONTAINERS,
];
