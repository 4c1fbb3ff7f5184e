import { isDeepStrictEqual } from 'node:util';
import { stringify } from 'yaml';
import type { DesiredObject, KubeObject, Replicas } from '../../../src/workloads/desired-object.ts';
import { keyOf } from './schema-fields.ts';

/** How rendered objects are written down for people: golden files are read in reviews. */

/** YAML 1.1, as kubectl reads it; long lines stay whole. */
export function yaml(value: unknown): string {
  return stringify(value, { lineWidth: 0, aliasDuplicateObjects: false, version: '1.1' });
}

function replicasText(replicas: Replicas): string {
  return replicas.kind === 'fixed'
    ? `replicas: ${replicas.count}`
    : `replicas: autoscaled ${replicas.min} to ${replicas.max}`;
}

/** What the operator is told beside the object. */
function remarks({ policy, owned, replicas, storage, afterDataServices }: DesiredObject): string {
  const said = [
    policy,
    owned ? 'owned' : 'unowned',
    ...(replicas === undefined ? [] : [replicasText(replicas)]),
    ...(storage === undefined ? [] : [`grows to: ${storage}`]),
    ...(afterDataServices ? ['after data services'] : []),
  ];
  return `# ${said.join('; ')}\n`;
}

/** All objects as YAML documents, in the order of creation. */
export function objectsText(objects: readonly DesiredObject[]): string {
  return objects.map((desired) => `---\n${remarks(desired)}${yaml(desired.object)}`).join('');
}

export function title({ kind, metadata }: KubeObject): string {
  return `${kind} ${metadata.name}`;
}

type Changes = Record<string, unknown>;

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** Members by key; entries of lists of named things by name, so that an inserted one does not shift the rest. */
function members(value: object): Map<string, unknown> {
  if (!Array.isArray(value))
    return new Map(Object.entries(value).map(([key, member]) => [`.${key}`, member]));
  const named = value.every((item) => isContainer(item) && keyOf(item) !== '');
  return new Map(value.map((item, index) => [`[${named ? keyOf(item) : index}]`, item]));
}

function collect(before: unknown, after: unknown, path: string, changes: Changes): void {
  if (isDeepStrictEqual(before, after)) return;
  if (!isContainer(before) || !isContainer(after) || Array.isArray(before) !== Array.isArray(after)) {
    changes[path.replace(/^\./, '')] = after === undefined ? 'gone' : after;
    return;
  }
  const [was, is] = [members(before), members(after)];
  for (const key of new Set([...was.keys(), ...is.keys()])) {
    collect(was.get(key), is.get(key), `${path}${key}`, changes);
  }
}

/** What differs in `after`: new objects whole, changed ones by path with the new value, `gone` for what is missing. */
export function changesText(before: readonly DesiredObject[], after: readonly DesiredObject[]): string {
  const was = new Map(before.map((desired) => [title(desired.object), desired]));
  const is = new Map(after.map((desired) => [title(desired.object), desired]));
  const changed = [...is].flatMap(([name, desired]) => {
    const changes: Changes = {};
    const { object, ...remarksBefore } = was.get(name) ?? { object: undefined };
    const { object: now, ...remarksNow } = desired;
    if (object === undefined) return [[name, { new: now, ...remarksNow }]];
    collect(object, now, '', changes);
    collect(remarksBefore, remarksNow, '', changes);
    return Object.keys(changes).length === 0 ? [] : [[name, changes]];
  });
  const gone = [...was.keys()].filter((name) => !is.has(name)).map((name) => [name, 'gone']);
  return yaml(Object.fromEntries([...changed, ...gone]));
}
