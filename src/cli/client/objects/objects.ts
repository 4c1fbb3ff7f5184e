import { UsageError } from '../../command/usage-error.ts';
import { choicesOf } from '../choices.ts';
import type { Answer } from '../client.ts';
import { type Context, show } from '../context.ts';
import { harmless } from '../logs/log-output.ts';
import { lookUpDeployment } from '../lookup.ts';
import { age, cell, table } from '../table.ts';

/** `berth objects`. */

const OBJECTS = '/v2/deployments/{deployment_id}/objects';
const OBJECT = `${OBJECTS}/{kind}/{name}` as const;

export type ObjectMap = Answer<'get', typeof OBJECTS>;
export type ClusterObject = ObjectMap['resources'][number];
type Details = Answer<'get', typeof OBJECT>;
type Kind = Exclude<ClusterObject['kind'], 'Secret'>;

const KINDS = choicesOf<Kind>({
  ManagedDeployment: true,
  Deployment: true,
  ReplicaSet: true,
  StatefulSet: true,
  Pod: true,
  PersistentVolumeClaim: true,
  Service: true,
  Ingress: true,
  HTTPRoute: true,
  HorizontalPodAutoscaler: true,
  PodDisruptionBudget: true,
  ServiceAccount: true,
  NetworkPolicy: true,
});

const INDENT = '  ';
const keyOf = ({ kind, name }: { readonly kind: string; readonly name: string }) => `${kind}/${name}`;

/** An object, and how deep it is below the objects without a listed owner. */
export interface Branch {
  readonly object: ClusterObject;
  readonly depth: number;
}

/** The objects as a tree, each below its owner. An object in a circle of owners is left out. */
export function treeOf(objects: readonly ClusterObject[]): Branch[] {
  const listed = new Set(objects.map(keyOf));
  const parentOf = ({ owner }: ClusterObject) =>
    owner !== null && listed.has(keyOf(owner)) ? keyOf(owner) : '';
  const children = Map.groupBy(objects, parentOf);
  const below = (parent: string, depth: number): Branch[] =>
    (children.get(parent) ?? []).flatMap((object) => [{ object, depth }, ...below(keyOf(object), depth + 1)]);
  return below('', 0);
}

/** Notes what is missing in a map. */
export function noteMissing(
  context: Pick<Context, 'note'>,
  { omitted, unread }: Pick<ObjectMap, 'omitted' | 'unread'>,
): void {
  for (const { kind, message } of unread) context.note(`${cell(kind)} is missing: ${cell(message)}`);
  for (const { kind, count, exact } of omitted)
    context.note(`${exact ? '' : 'at least '}${count} more objects of the kind ${cell(kind)} are not listed`);
}

export async function readMap(context: Context, name: string): Promise<ObjectMap> {
  const { id } = await lookUpDeployment(context.client, name, true);
  return context.client.GET(OBJECTS, { params: { path: { deployment_id: id } } });
}

/** Prints all objects of a deployment. */
export async function listObjects(context: Context, name: string): Promise<undefined> {
  const map = await readMap(context, name);
  const now = new Date();
  const rows = () =>
    treeOf(map.resources).map(({ object, depth }) => [
      `${INDENT.repeat(depth)}${cell(keyOf(object))}`,
      object.state,
      object.created_at === null ? cell(null) : age(object.created_at, now),
      cell(object.message),
    ]);
  await show(context, map, { table: () => table(['OBJECT', 'STATE', 'AGE', 'MESSAGE'], rows()) });
  noteMissing(context, map);
}

/** @throws UsageError */
export function parseObject(word: string): { kind: Kind; name: string } {
  const [given = '', name = '', ...rest] = word.split('/');
  const kind = KINDS.find((each) => each.toLowerCase() === given.toLowerCase());
  if (name === '' || rest.length > 0)
    throw new UsageError('the object must have the form KIND/NAME, such as Pod/shop-api-1');
  if (kind === undefined)
    throw new UsageError(`the kind must be one of ${KINDS.join(', ')}. Secrets cannot be read`);
  return { kind, name };
}

function detailsOf({ yaml, events }: Details): string {
  const rows = events.map(({ last_at: at, type, reason, count, message }) => [
    cell(at),
    cell(type),
    cell(reason),
    cell(count),
    cell(message),
  ]);
  const text =
    yaml === null
      ? 'The object is too large to be shown.'
      : yaml.split('\n').map(harmless).join('\n').trimEnd();
  if (rows.length === 0) return `${text}\n\nNo events.`;
  return `${text}\n\n${table(['LAST SEEN', 'TYPE', 'REASON', 'COUNT', 'MESSAGE'], rows)}`;
}

/** Prints one object with its events. */
export async function showObject(context: Context, deployment: string, word: string): Promise<undefined> {
  const object = parseObject(word);
  const { id } = await lookUpDeployment(context.client, deployment, true);
  const path = { deployment_id: id, ...object };
  const details = await context.client.GET(OBJECT, { params: { path } });
  await show(context, details, { table: () => detailsOf(details) });
  for (const { kind, message } of details.unread) context.note(`${cell(kind)} is missing: ${cell(message)}`);
}
