import { DEFAULT_CONTAINER_ANNOTATION } from '../../../domain/deployment/reserved.ts';
import { parseImageReference } from '../../../domain/kubernetes/image.ts';
import type { KubeObject } from '../../kube/client/object.ts';

/** A field with its applied value and its live value. */
interface ChangedField {
  readonly path: string;
  readonly wanted?: unknown;
  readonly present?: unknown;
}

interface SafeField {
  /** Name in the documentation. */
  readonly field: string;
  /** Which change is safe and why, for the documentation. */
  readonly when: string;
  readonly path: RegExp;
  holds(change: { wanted: unknown; present: unknown; image: string | undefined }): boolean;
}

const CONTAINER = String.raw`^spec\.template\.spec\.(?:containers|initContainers)\[name=[^\]]+\]\.`;
const ANY_CONTEXT = String.raw`^spec\.template\.spec\.(?:(?:containers|initContainers)\[name=[^\]]+\]\.)?securityContext\.`;
const inContainer = (field: string) => new RegExp(`${CONTAINER}${field}$`);
const inContext = (field: string) => new RegExp(`${ANY_CONTEXT}${field}$`);

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const hasAll = (list: unknown, of: unknown) => listOf(of).every((item) => listOf(list).includes(item));
const isPinned = (image: string | undefined) => parseImageReference(image ?? '')?.digest != null;
const isMore = (present: unknown, wanted: unknown) =>
  typeof present === 'number' && typeof wanted === 'number' && present > wanted;

/**
 * Safe changes, with which the pods still run the requested revision. The pods pull the same image, have fewer rights,
 * run on other nodes, or take longer to end. All other changes of fields that Berth writes are not safe.
 * docs/operations.md contains this table.
 */
export const SAFE_FIELDS: readonly SafeField[] = [
  {
    field: 'imagePullPolicy',
    when: 'the new value is `Always`, or `Never` replaces `IfNotPresent`. If the image is pinned to a digest, any value may replace a value other than `Always`',
    path: inContainer('imagePullPolicy'),
    // With a weaker policy, a node may run an old image of the tag. Between tenants, Always also ensures a check of the
    // right to pull.
    holds: ({ wanted, present, image }) =>
      present === 'Always' ||
      (wanted === 'IfNotPresent' && present === 'Never') ||
      (wanted !== 'Always' && typeof present === 'string' && isPinned(image)),
  },
  {
    field: 'securityContext.runAsNonRoot, readOnlyRootFilesystem',
    when: 'set to true',
    path: inContext('(?:runAsNonRoot|readOnlyRootFilesystem)'),
    holds: ({ present }) => present === true,
  },
  {
    field: 'securityContext.allowPrivilegeEscalation, privileged',
    when: 'set to false',
    path: inContext('(?:allowPrivilegeEscalation|privileged)'),
    holds: ({ present }) => present === false,
  },
  {
    field: 'securityContext.capabilities.drop',
    when: 'more capabilities are dropped',
    path: inContext(String.raw`capabilities\.drop`),
    holds: ({ wanted, present }) => hasAll(present, wanted),
  },
  {
    field: 'securityContext.capabilities.add',
    when: 'fewer capabilities are added',
    path: inContext(String.raw`capabilities\.add`),
    holds: ({ wanted, present }) => hasAll(wanted, present),
  },
  {
    field: 'securityContext.seccompProfile.type',
    when: '`RuntimeDefault` or `Localhost` instead of `Unconfined`',
    path: inContext(String.raw`seccompProfile\.type`),
    holds: ({ wanted, present }) =>
      (wanted === 'Unconfined' || wanted === undefined) &&
      (present === 'RuntimeDefault' || present === 'Localhost'),
  },
  {
    field: 'topologySpreadConstraints',
    when: 'any change: the field controls where pods run, not what runs in them',
    path: /^spec\.template\.spec\.topologySpreadConstraints/,
    holds: () => true,
  },
  {
    field: 'terminationGracePeriodSeconds',
    when: 'the value is larger',
    path: /^spec\.template\.spec\.terminationGracePeriodSeconds$/,
    holds: ({ wanted, present }) => isMore(present, wanted),
  },
  {
    field: DEFAULT_CONTAINER_ANNOTATION,
    when: 'any change: only kubectl reads this annotation',
    path: new RegExp(
      String.raw`^spec\.template\.metadata\.annotations\[${DEFAULT_CONTAINER_ANNOTATION.replaceAll('.', '\\.')}\]$`,
    ),
    holds: () => true,
  },
  {
    field: 'minReadySeconds',
    when: 'the value of a Deployment is larger',
    path: /^spec\.minReadySeconds$/,
    holds: ({ wanted, present }) => isMore(present, wanted),
  },
  {
    field: 'progressDeadlineSeconds, revisionHistoryLimit',
    when: 'any change of a Deployment: Berth uses its own deadline and its own stored templates',
    path: /^spec\.(?:progressDeadlineSeconds|revisionHistoryLimit)$/,
    holds: () => true,
  },
];

const WORKLOADS: ReadonlySet<string> = new Set(['Deployment', 'StatefulSet']);

/** Whether the pods still run the requested revision although the cluster changed this field. */
export function isSafeChange(object: KubeObject, { path, wanted, present }: ChangedField): boolean {
  if (!WORKLOADS.has(object.kind)) return false;
  const image = imageAt(object, path);
  return SAFE_FIELDS.some((safe) => safe.path.test(path) && safe.holds({ wanted, present, image }));
}

interface PodSpec {
  readonly containers?: readonly { name: string; image?: string }[];
  readonly initContainers?: readonly { name: string; image?: string }[];
}

/** Image of the container that contains the path. */
function imageAt(object: KubeObject, path: string): string | undefined {
  const [, list, name] = /\.(containers|initContainers)\[name=([^\]]+)\]/.exec(path) ?? [];
  const { spec } = object as { spec?: { template?: { spec?: PodSpec } } };
  const containers = spec?.template?.spec?.[list as keyof PodSpec] ?? [];
  return containers.find((container) => container.name === name)?.image;
}
