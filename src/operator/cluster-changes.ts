import { ANNOTATIONS } from '../contract/names.ts';
import { contentHash } from '../domain/hash.ts';
import { parseImageReference } from '../domain/kubernetes/image.ts';
import { type Difference, desiredHash, differenceOf } from '../kube/compare.ts';
import type { KubeObject } from '../kube/object.ts';
import { DEFAULT_CONTAINER_ANNOTATION } from '../workloads/pod-template.ts';
import { shortened } from './conditions.ts';

/**
 * The API server answers an apply with the object as it stored it. Where the answer differs from what was applied, a
 * mutating admission policy or webhook has changed it: writing the same again leads to the same. So such a change is
 * told from drift, which somebody makes later and an apply puts right.
 */
export interface ClusterChange {
  /** Of what was applied and of what the cluster made of it: another change has another one. */
  readonly hash: string;
  /** What runs is still what was asked for. */
  readonly isSafe: boolean;
  /** The fields, as a sentence without its subject; names values only where they cannot be secret. */
  readonly fields: string;
  /** Labels or the owner are not kept, so that the object may be out of sight although it is there. */
  readonly hides?: boolean;
}

interface SafeField {
  /** As the documentation names it. */
  readonly field: string;
  /** Which change of it is safe, and why, for the documentation. */
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
 * Changes with which the pods still run the revision that was asked for: they pull the same image, may do less, are placed
 * elsewhere, or take longer to end. All else that Berth writes is not safe. docs/operations.md has this table.
 */
export const SAFE_FIELDS: readonly SafeField[] = [
  {
    field: 'imagePullPolicy',
    when: '`Always`; `Never` instead of `IfNotPresent`; any value instead of another than `Always` where the image is pinned to a digest',
    path: inContainer('imagePullPolicy'),
    // Less often, a tag may be an image of before; and between tenants Always asks for the right to pull.
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
    when: 'more is dropped',
    path: inContext(String.raw`capabilities\.drop`),
    holds: ({ wanted, present }) => hasAll(present, wanted),
  },
  {
    field: 'securityContext.capabilities.add',
    when: 'less is added',
    path: inContext(String.raw`capabilities\.add`),
    holds: ({ wanted, present }) => hasAll(wanted, present),
  },
  {
    field: 'securityContext.seccompProfile.type',
    when: '`RuntimeDefault` or `Localhost` instead of `Unconfined`',
    path: inContext(String.raw`seccompProfile\.type`),
    holds: ({ wanted, present }) =>
      wanted === 'Unconfined' && (present === 'RuntimeDefault' || present === 'Localhost'),
  },
  {
    field: 'topologySpreadConstraints',
    when: 'any: it says where pods run, not what they are',
    path: /^spec\.template\.spec\.topologySpreadConstraints/,
    holds: () => true,
  },
  {
    field: 'terminationGracePeriodSeconds',
    when: 'larger',
    path: /^spec\.template\.spec\.terminationGracePeriodSeconds$/,
    holds: ({ wanted, present }) => isMore(present, wanted),
  },
  {
    field: DEFAULT_CONTAINER_ANNOTATION,
    when: 'any: only kubectl reads this annotation',
    path: new RegExp(
      String.raw`^spec\.template\.metadata\.annotations\[${DEFAULT_CONTAINER_ANNOTATION.replaceAll('.', '\\.')}\]$`,
    ),
    holds: () => true,
  },
  {
    field: 'minReadySeconds',
    when: 'larger, of a Deployment',
    path: /^spec\.minReadySeconds$/,
    holds: ({ wanted, present }) => isMore(present, wanted),
  },
  {
    field: 'progressDeadlineSeconds, revisionHistoryLimit',
    when: 'any, of a Deployment: Berth has a deadline and stored templates of its own',
    path: /^spec\.(?:progressDeadlineSeconds|revisionHistoryLimit)$/,
    holds: () => true,
  },
];

const WORKLOADS: ReadonlySet<string> = new Set(['Deployment', 'StatefulSet']);

function isSafe(object: KubeObject, { path, wanted, present }: Difference): boolean {
  if (!WORKLOADS.has(object.kind)) return false;
  const image = imageAt(object, path);
  return SAFE_FIELDS.some((safe) => safe.path.test(path) && safe.holds({ wanted, present, image }));
}

interface PodSpec {
  readonly containers?: readonly { name: string; image?: string }[];
  readonly initContainers?: readonly { name: string; image?: string }[];
}

/** Image of the container that the path leads into. */
function imageAt(object: KubeObject, path: string): string | undefined {
  const [, list, name] = /\.(containers|initContainers)\[name=([^\]]+)\]/.exec(path) ?? [];
  const { spec } = object as { spec?: { template?: { spec?: PodSpec } } };
  const containers = spec?.template?.spec?.[list as keyof PodSpec] ?? [];
  return containers.find((container) => container.name === name)?.image;
}

const SHOWN = 4;

/** What the cluster made of an object that was applied, by how its answer differs; undefined: nothing. */
export function clusterChange(
  object: KubeObject,
  differences: readonly Difference[],
): ClusterChange | undefined {
  if (differences.length === 0) return undefined;
  const shown = differences.slice(0, SHOWN).map(({ path, why }) => `${path} ${reworded(path, why)}`);
  const more = differences.length > SHOWN ? [`${differences.length - SHOWN} more`] : [];
  return {
    hash: changeHash(object, differences),
    isSafe: differences.every((difference) => isSafe(object, difference)),
    fields: shortened([...shown, ...more].join(', '), 700),
    hides: differences.some(({ path }) => /^metadata\.(?:labels|ownerReferences)\b/.test(path)),
  };
}

/** Compared with the answer to an apply, our note of what was applied can only have been changed. */
function reworded(path: string, why: string): string {
  return path === `metadata.annotations[${ANNOTATIONS.appliedHash}]` ? 'is not kept' : why;
}

/** The same for the same differences of the same wanted object. */
export function changeHash(object: KubeObject, differences: readonly Difference[]): string {
  const desired = desiredHash(object, ANNOTATIONS.appliedHash);
  return contentHash({ desired, fields: differences.map(({ path, why, present }) => [path, why, present]) });
}

/** What the cluster made of the number of pods that was written; undefined: nothing. */
export function replicasChange(wanted: number, present: number): ClusterChange | undefined {
  if (wanted === present) return undefined;
  const difference = differenceOf('spec.replicas', `is ${present}, should be ${wanted}`, wanted, present);
  return {
    hash: contentHash({ wanted, present }),
    isSafe: false,
    fields: `${difference.path} ${difference.why}`,
  };
}

/** The field of a container that somebody added; an apply does not remove what it does not own. */
export interface AddedField {
  readonly list: 'containers' | 'initContainers';
  readonly container: string;
  readonly field: string;
}

const ADDED = /^spec\.template\.spec\.(containers|initContainers)\[name=([^\]]+)\]\.(\w+)$/;

/** Fields that have to be removed by themselves. */
export function addedFields(differences: readonly Difference[]): AddedField[] {
  return differences.flatMap(({ path, why }) => {
    const [, list, container = '', field = ''] = (why === 'is not wanted' && ADDED.exec(path)) || [];
    return list === undefined ? [] : [{ list: list as AddedField['list'], container, field }];
  });
}
