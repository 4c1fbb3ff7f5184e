/** O1: the state of cluster and database, in a form that can be compared between runs. */

import type { UntypedObject } from '../../../src/cluster/kube/client/object.ts';
import { RESOURCES } from '../../../src/cluster/kube/client/resources.ts';
import { LABELS } from '../../../src/contract/resource/names.ts';
import { DEPLOYMENT_KINDS } from '../kinds.ts';
import { comparableData } from '../walk/secret-data.ts';
import type { FaultWorld } from '../world.ts';
import { idsOf, rowsOf } from './state-rows.ts';

/** Lines, by the object or row that they describe. */
export type State = ReadonlyMap<string, readonly string[]>;

/** Fields that differ between runs: versions, times, ids and what Kubernetes sets. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  'uid',
  'resourceVersion',
  'creationTimestamp',
  'managedFields',
  'selfLink',
  'clusterIP',
  'clusterIPs',
  'nodeName',
  'podIP',
  'podIPs',
  'hostIP',
  'hostIPs',
  'containerID',
  'observedGeneration',
  // Depends on the node that the scheduler selects.
  'volume.kubernetes.io/selected-node',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
]);
/** Hashes also cover ids and times. What they are computed from is compared itself. */
const HASHES = /hash|^berth\.dev\/pod-template$/i;
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;
const IP = /\b\d{1,3}(?:\.\d{1,3}){3}\b/g;
const GENERATED = /-[a-z0-9]{5,10}-[bcdfghjklmnpqrstvwxz2456789]{5}\b|kube-api-access-[a-z0-9]{5}/g;
/** Hashes in names. The second form is the hash of a StatefulSet's revision, which can be as short as five characters. */
const HEX = /(?<=-|\b)[0-9a-f]{8,}\b|(?<=-)[4-9bcdf]{5,7}\b/g;

/** Replaces texts that are specific to one world. */
export interface Names {
  mask(text: string): string;
}

/** @param ids ids of deployments and revisions, each with the text that replaces it */
export function namesOf(world: FaultWorld, ids: ReadonlyMap<string, string>): Names {
  return {
    mask: (text) => {
      let masked = text.replaceAll(world.namespace, '<namespace>').replaceAll(world.ownNamespace, '<own>');
      for (const [id, what] of ids) masked = masked.replaceAll(id, what);
      return masked
        .replace(UUID, '<uuid>')
        .replace(TIME, '<time>')
        .replace(IP, '<ip>')
        .replace(GENERATED, '-<generated>')
        .replace(HEX, '<hex>');
    },
  };
}

/** Every field as a line `path = value`, sorted by path. */
export function linesOf(value: unknown, names: Names, path = ''): string[] {
  if (Array.isArray(value)) {
    const items = byType(value);
    return items.flatMap((item, index) => linesOf(item, names, `${path}[${keyOf(item) ?? index}]`));
  }
  if (typeof value === 'object' && value !== null) {
    return Object.entries(value)
      .filter(([key]) => !LEFT_OUT.has(key))
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .flatMap(([key, field]) =>
        HASHES.test(key) ? [`${path}.${key} = <hash>`] : linesOf(field, names, `${path}.${key}`),
      );
  }
  return value === undefined ? [] : [names.mask(`${path} = ${JSON.stringify(value)}`)];
}

/** Sorts a list of conditions by type, because their order has no meaning. */
function byType(items: readonly unknown[]): unknown[] {
  const keyed = items.every((item) => keyOf(item) !== undefined);
  return keyed
    ? [...items].sort((left, right) => ((keyOf(left) ?? '') < (keyOf(right) ?? '') ? -1 : 1))
    : [...items];
}

const keyOf = (item: unknown): string | undefined => {
  const { type, status } = (item ?? {}) as { type?: unknown; status?: unknown };
  return typeof type === 'string' && typeof status === 'string' ? type : undefined;
};

/**
 * Kinds whose spec only Berth writes, so their generation counts Berth's changes. The comparison of generations finds a
 * change that was made and reverted. A repeated write does not increase the generation. ReplicaSets are excluded, because
 * the Deployment controller scales them pod by pod.
 */
const COUNTED: ReadonlySet<string> = new Set(
  [
    RESOURCES.ManagedDeployment,
    RESOURCES.Deployment,
    RESOURCES.StatefulSet,
    RESOURCES.HorizontalPodAutoscaler,
    RESOURCES.PodDisruptionBudget,
    RESOURCES.NetworkPolicy,
  ].map(({ kind }) => kind),
);

/** Removes the generation of an object, unless its kind is in `COUNTED`. */
export function withoutVersions(object: UntypedObject): UntypedObject {
  if (COUNTED.has(object.kind)) return object;
  const { generation: _, ...metadata } = object.metadata as UntypedObject['metadata'] & {
    generation?: number;
  };
  return { ...object, metadata };
}

/** Decodes the values of a Secret. The random password of the database is excluded. */
export function withValues(object: UntypedObject): UntypedObject {
  if (object.kind !== 'Secret') return object;
  const app = object.metadata.labels?.[LABELS.instance] ?? '';
  return { ...object, data: comparableData(object, app) };
}

/** Reduces a pod to name, labels, phase and images. Its spec is compared in the pod template. */
function podOnly(object: UntypedObject): UntypedObject {
  if (object.kind !== 'Pod') return object;
  const { metadata, ...rest } = object;
  const { phase } = (rest['status'] ?? {}) as { phase?: string };
  const containers = (rest['spec'] as { containers: { image: string }[] }).containers;
  const {
    labels,
    deletionTimestamp,
    generateName,
    ownerReferences = [],
  } = metadata as UntypedObject['metadata'] & { generateName?: string };
  // Of other generated names, the mask recognizes the end.
  const isOfJob = ownerReferences.some(({ kind }) => kind === 'Job');
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: isOfJob ? `${generateName}<generated>` : metadata.name,
      labels,
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    },
    phase,
    images: containers.map(({ image }) => image),
  } as UntypedObject;
}

/** Objects of deployments, each by kind and masked name. Objects with equal names are numbered. */
async function clusterState(world: FaultWorld, names: Names): Promise<Map<string, string[]>> {
  const { admin, namespace } = world;
  const lists = await Promise.all(DEPLOYMENT_KINDS.map((kind) => admin.listAll(kind, { namespace })));
  const state = new Map<string, string[]>();
  for (const [index, { items }] of lists.entries()) {
    const ours = items.filter(
      ({ metadata }) => metadata.labels?.[LABELS.deploymentId] !== undefined || isMade(metadata),
    );
    const texts = ours
      .map((item) => {
        const object = podOnly(withValues(withoutVersions(item)));
        const name = `${DEPLOYMENT_KINDS[index]?.kind} ${names.mask(object.metadata.name)}`;
        return { name, lines: linesOf(object, names) };
      })
      .sort((left, right) => (left.lines.join('\n') < right.lines.join('\n') ? -1 : 1));
    for (const { name, lines } of texts) {
      let key = name;
      for (let number = 2; state.has(key); number += 1) key = `${name} (${number})`;
      state.set(key, lines);
    }
  }
  return state;
}

/** Whether Kubernetes has created the object for one of Berth's objects. */
const isMade = ({ ownerReferences }: UntypedObject['metadata']) =>
  (ownerReferences ?? []).some(({ kind }) =>
    ['Deployment', 'StatefulSet', 'ReplicaSet', 'ManagedDeployment', 'DeploymentTask', 'Job'].includes(kind),
  );

/** State of cluster and database, masked. @param since start of the plan, because older events belong to other plans */
export async function stateOf(world: FaultWorld, since: Date): Promise<State> {
  const rows = await rowsOf(world, since);
  const names = namesOf(world, idsOf(rows));
  const state = await clusterState(world, names);
  for (const { what, row } of rows.named) state.set(what, linesOf(row, names));
  for (const { what, times } of rows.counted) state.set(names.mask(what), [`times = ${times}`]);
  return state;
}

/** Lines of a diff: `- ` only expected, `+ ` only found. */
export function differences(expected: State, found: State): string[] {
  const keys = [...new Set([...expected.keys(), ...found.keys()])].sort();
  return keys.flatMap((key) => {
    const [before, after] = [expected.get(key), found.get(key)];
    if (before === undefined) return [`+ ${key}`];
    if (after === undefined) return [`- ${key}`];
    const changed = [
      ...before.filter((line) => !after.includes(line)).map((line) => `- ${line}`),
      ...after.filter((line) => !before.includes(line)).map((line) => `+ ${line}`),
    ];
    return changed.length === 0 ? [] : [`  ${key}`, ...changed];
  });
}
