/** O1: compares the cluster with the desired state of the record, where no run without a fault can be compared. */

import type { KubeObject, UntypedObject } from '../../../src/cluster/kube/client/object.ts';
import { RESOURCES, type Resource } from '../../../src/cluster/kube/client/resources.ts';
import { subsetDiff } from '../../../src/cluster/kube/compare/compare.ts';
import { LABELS } from '../../../src/contract/resource/names.ts';
import { berthClient } from '../../integration/harness/berth-setup.ts';
import { MADE_KINDS } from '../kinds.ts';
import type { FaultWorld } from '../world.ts';

const KINDS: readonly Resource[] = [...MADE_KINDS, RESOURCES.Ingress];

/** Made once and then left alone: that they are there is what counts; of the environment also what it holds. */
const MADE_ONCE: ReadonlySet<string> = new Set([RESOURCES.Secret.kind, RESOURCES.PersistentVolumeClaim.kind]);

/** Environments, the copy of credentials, what images are pulled with; templates and witnesses: as many as rollouts have left. */
const BESIDE = /^(?:Secret \S+-(?:env-\d+|db-copy|pull)|ControllerRevision \S+)$/;

const nameOf = ({ kind, metadata }: KubeObject) => `${kind} ${metadata.name}`;

/** The custom resource names the Secret with the environment, which the listener makes. */
function environmentOf(wanted: readonly KubeObject[]): string[] {
  const resource = wanted.find(({ kind }) => kind === RESOURCES.ManagedDeployment.kind);
  const { revision } = ((resource as UntypedObject | undefined)?.['spec'] ?? {}) as {
    revision?: { envSecretName?: string };
  };
  return revision?.envSecretName === undefined ? [] : [`Secret ${revision.envSecretName}`];
}

/** The number of a change says nothing of what is wanted. */
function comparable(object: KubeObject): KubeObject {
  if (object.kind !== RESOURCES.ManagedDeployment.kind) return object;
  const { recordGeneration: _, ...spec } = (object as UntypedObject)['spec'] as Record<string, unknown>;
  return { ...object, spec } as KubeObject;
}

interface Scale {
  readonly min: number;
  readonly max: number;
}

/** Manifests leave the number of pods open, for an autoscaler may own it; the custom resource bounds it. */
function differentScales(wanted: readonly KubeObject[], there: ReadonlyMap<string, KubeObject>): string[] {
  const resource = wanted.find(({ kind }) => kind === RESOURCES.ManagedDeployment.kind);
  const { components = {} } = ((resource as UntypedObject | undefined)?.['spec'] ?? {}) as {
    components?: Readonly<Record<string, { readonly scale?: Scale }>>;
  };
  return Object.entries(components).flatMap(([component, { scale }]) => {
    const name = `${RESOURCES.Deployment.kind} ${resource?.metadata.name}-${component}`;
    const found = there.get(name) as UntypedObject | undefined;
    if (found === undefined || scale === undefined || scale.max === 0) return [];
    const { replicas = 1 } = (found['spec'] ?? {}) as { replicas?: number };
    const fewest = Math.max(scale.min, 1);
    return replicas >= fewest && replicas <= scale.max
      ? []
      : [`${name}: spec.replicas is ${replicas}, wanted are ${fewest} to ${scale.max}`];
  });
}

/** What the user has sent, by name. */
type Environment = Readonly<Record<string, string>>;

/** No manifest holds the values: what runs reads them from the Secret that the custom resource names. None is told. */
function differentEnvironment(
  environment: Environment,
  wanted: readonly KubeObject[],
  there: ReadonlyMap<string, KubeObject>,
): string[] {
  const [name = ''] = environmentOf(wanted);
  if (!there.has(name)) return [];
  const { data = {} } = there.get(name) as UntypedObject & { data?: Environment };
  const held = (key: string) => Buffer.from(data[key] ?? '', 'base64').toString();
  return [...new Set([...Object.keys(environment), ...Object.keys(data)])]
    .filter((key) => !(key in environment && key in data) || environment[key] !== held(key))
    .sort()
    .map((key) => `${name}: ${key} is not what was sent`);
}

/**
 * @param wanted the custom resource and all that it wants
 * @param live all that carries the deployment's label
 * @param environment the values of its secrets, as the API has them
 * @returns what is missing, what nothing wants, and fields of ours that are others
 */
export function desiredStateDifferences(
  wanted: readonly KubeObject[],
  live: readonly KubeObject[],
  environment: Environment = {},
): string[] {
  const there = new Map(live.map((object) => [nameOf(object), object]));
  const names = new Set([...wanted.map(nameOf), ...environmentOf(wanted)]);
  const missing = [...names].filter(
    (name) => there.get(name)?.metadata.deletionTimestamp !== undefined || !there.has(name),
  );
  const surplus = [...there.keys()].filter((name) => !names.has(name) && !BESIDE.test(name));
  const different = wanted.flatMap((object) => {
    const found = there.get(nameOf(object));
    if (found === undefined || MADE_ONCE.has(object.kind)) return [];
    return subsetDiff(comparable(object), found).map(({ path, why }) => `${nameOf(object)}: ${path} ${why}`);
  });
  return [
    ...missing.map((name) => `${name} is missing`),
    ...surplus.map((name) => `${name} is there, and nothing wants it`),
    ...different,
    ...differentScales(wanted, there),
    ...differentEnvironment(environment, wanted, there),
  ];
}

/** What has failed, or is paused by its owner, is as it was left. */
const SERVING = `
SELECT id FROM deployments WHERE delete_requested_at IS NULL AND active_revision_id = latest_revision_id`;

interface Wanted {
  readonly manifests: readonly KubeObject[];
  readonly secrets: readonly { readonly name: string; readonly value: string }[];
}

/** What a change to nothing would make of it: rendered by the API of the record alone. */
async function wantedOf(world: FaultWorld, id: string): Promise<Wanted | string> {
  const { call } = berthClient(world.apiKey, () => world.apiUrl);
  const path = `/v2/deployments/${id}?dry_run=true`;
  try {
    const { status, body } = await call<Partial<Wanted> | null>('PATCH', path, {});
    const { manifests, secrets } = body ?? {};
    if (manifests && secrets) return { manifests, secrets };
    return `${id}: what it wants cannot be told: ${status} ${JSON.stringify(body)}`;
  } catch (error) {
    // A connection that broke says nothing of the deployment: it is asked again.
    return `${id}: what it wants cannot be told: ${String(error)}`;
  }
}

/** A line for each deviation, of every deployment that serves. */
export async function differencesFromDesired(world: FaultWorld): Promise<string[]> {
  const { admin, namespace } = world;
  const ids = (await world.sql<{ id: string }>(SERVING)).map(({ id }) => id);
  const lists = await Promise.all(
    KINDS.map((kind) => admin.listAll(kind, { namespace, labelSelector: LABELS.deploymentId })),
  );
  const live = lists.flatMap(({ items }) => items);
  const lines: string[] = [];
  for (const id of ids) {
    const wanted = await wantedOf(world, id);
    if (typeof wanted === 'string') {
      lines.push(wanted);
      continue;
    }
    const own = live.filter(({ metadata }) => metadata.labels?.[LABELS.deploymentId] === id);
    const environment = Object.fromEntries(wanted.secrets.map(({ name, value }) => [name, value]));
    lines.push(...desiredStateDifferences(wanted.manifests, own, environment));
  }
  return lines;
}
