/** O1: compares the cluster with the desired state of each record. Used where no run without a fault can be compared. */

import type { KubeObject, UntypedObject } from '../../../src/cluster/kube/client/object.ts';
import { RESOURCES, type Resource } from '../../../src/cluster/kube/client/resources.ts';
import { subsetDiff } from '../../../src/cluster/kube/compare/compare.ts';
import { LABELS } from '../../../src/contract/resource/names.ts';
import { berthClient } from '../../integration/harness/berth-setup.ts';
import { MADE_KINDS } from '../kinds.ts';
import type { FaultWorld } from '../world.ts';

const KINDS: readonly Resource[] = [...MADE_KINDS, RESOURCES.Ingress];

/** Kinds whose objects are not changed after their creation. Only their existence is checked, and the values of the environment. */
const MADE_ONCE: ReadonlySet<string> = new Set([RESOURCES.Secret.kind, RESOURCES.PersistentVolumeClaim.kind]);

/** Objects that may exist in any number: environments, copied credentials, pull secrets, stored templates and secret sentinels. */
const ANY_NUMBER = /^(?:Secret \S+-(?:env-\d+|db-copy|pull)|ControllerRevision \S+)$/;

const nameOf = ({ kind, metadata }: KubeObject) => `${kind} ${metadata.name}`;

/** The name of the Secret with the environment, from the custom resource. The listener creates this Secret. */
function environmentOf(wanted: readonly KubeObject[]): string[] {
  const resource = wanted.find(({ kind }) => kind === RESOURCES.ManagedDeployment.kind);
  const { revision } = ((resource as UntypedObject | undefined)?.['spec'] ?? {}) as {
    revision?: { envSecretName?: string };
  };
  return revision?.envSecretName === undefined ? [] : [`Secret ${revision.envSecretName}`];
}

/** Removes the generation from the spec of a custom resource, because it counts changes and is not desired state. */
function comparable(object: KubeObject): KubeObject {
  if (object.kind !== RESOURCES.ManagedDeployment.kind) return object;
  const { recordGeneration: _, ...spec } = (object as UntypedObject)['spec'] as Record<string, unknown>;
  return { ...object, spec } as KubeObject;
}

interface Scale {
  readonly min: number;
  readonly max: number;
}

/** Manifests do not contain the number of pods, because an autoscaler may set it. The custom resource limits it. */
function differentScales(wanted: readonly KubeObject[], found: ReadonlyMap<string, KubeObject>): string[] {
  const resource = wanted.find(({ kind }) => kind === RESOURCES.ManagedDeployment.kind);
  const { components = {} } = ((resource as UntypedObject | undefined)?.['spec'] ?? {}) as {
    components?: Readonly<Record<string, { readonly scale?: Scale }>>;
  };
  return Object.entries(components).flatMap(([component, { scale }]) => {
    const name = `${RESOURCES.Deployment.kind} ${resource?.metadata.name}-${component}`;
    const workload = found.get(name) as UntypedObject | undefined;
    if (workload === undefined || scale === undefined || scale.max === 0) return [];
    const { replicas = 1 } = (workload['spec'] ?? {}) as { replicas?: number };
    const fewest = Math.max(scale.min, 1);
    return replicas >= fewest && replicas <= scale.max
      ? []
      : [`${name}: spec.replicas is ${replicas}, but the limits are ${fewest} to ${scale.max}`];
  });
}

/** The values that the user has sent, by name. */
type Environment = Readonly<Record<string, string>>;

/** Compares the Secret that the custom resource names with the values that were sent. The result contains no values. */
function differentEnvironment(
  environment: Environment,
  wanted: readonly KubeObject[],
  found: ReadonlyMap<string, KubeObject>,
): string[] {
  const [name = ''] = environmentOf(wanted);
  if (!found.has(name)) return [];
  const { data = {} } = found.get(name) as UntypedObject & { data?: Environment };
  const held = (key: string) => Buffer.from(data[key] ?? '', 'base64').toString();
  return [...new Set([...Object.keys(environment), ...Object.keys(data)])]
    .filter((key) => !(key in environment && key in data) || environment[key] !== held(key))
    .sort()
    .map((key) => `${name}: ${key} differs from the value that was sent`);
}

/**
 * One line for each object that is missing or not desired, and for each field of Berth with another value.
 * @param wanted the custom resource and all objects that it requires
 * @param live all objects with the label of the deployment
 * @param environment the secrets of the deployment, as the API returns them
 */
export function desiredStateDifferences(
  wanted: readonly KubeObject[],
  live: readonly KubeObject[],
  environment: Environment = {},
): string[] {
  const found = new Map(live.map((object) => [nameOf(object), object]));
  const names = new Set([...wanted.map(nameOf), ...environmentOf(wanted)]);
  const missing = [...names].filter(
    (name) => found.get(name)?.metadata.deletionTimestamp !== undefined || !found.has(name),
  );
  const surplus = [...found.keys()].filter((name) => !names.has(name) && !ANY_NUMBER.test(name));
  const different = wanted.flatMap((object) => {
    const existing = found.get(nameOf(object));
    if (existing === undefined || MADE_ONCE.has(object.kind)) return [];
    return subsetDiff(comparable(object), existing).map(
      ({ path, why }) => `${nameOf(object)}: ${path} ${why}`,
    );
  });
  return [
    ...missing.map((name) => `${name} is missing`),
    ...surplus.map((name) => `${name} exists, but is not desired`),
    ...different,
    ...differentScales(wanted, found),
    ...differentEnvironment(environment, wanted, found),
  ];
}

/** Deployments whose latest revision is active. A failed or paused deployment keeps its previous objects. */
const SERVING = `
SELECT id FROM deployments WHERE delete_requested_at IS NULL AND active_revision_id = latest_revision_id`;

interface Desired {
  readonly manifests: readonly KubeObject[];
  readonly secrets: readonly { readonly name: string; readonly value: string }[];
}

/** The desired state of a deployment: a dry run of an empty change makes the API render the record. Or why this failed. */
async function desiredOf(world: FaultWorld, id: string): Promise<Desired | string> {
  const { call } = berthClient(world.apiKey, () => world.apiUrl);
  const path = `/v2/deployments/${id}?dry_run=true`;
  try {
    const { status, body } = await call<Partial<Desired> | null>('PATCH', path, {});
    const { manifests, secrets } = body ?? {};
    if (manifests && secrets) return { manifests, secrets };
    return `${id}: failed to read its desired state: ${status} ${JSON.stringify(body)}`;
  } catch (error) {
    // A broken connection says nothing about the deployment, so the oracle checks again.
    return `${id}: failed to read its desired state: ${String(error)}`;
  }
}

/** One line for each difference, for all serving deployments. */
export async function differencesFromDesired(world: FaultWorld): Promise<string[]> {
  const { admin, namespace } = world;
  const ids = (await world.sql<{ id: string }>(SERVING)).map(({ id }) => id);
  const lists = await Promise.all(
    KINDS.map((kind) => admin.listAll(kind, { namespace, labelSelector: LABELS.deploymentId })),
  );
  const live = lists.flatMap(({ items }) => items);
  const lines: string[] = [];
  for (const id of ids) {
    const wanted = await desiredOf(world, id);
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
