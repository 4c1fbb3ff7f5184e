import { isDeeper, MAX_LEVELS } from '../../../domain/core/depth.ts';
import { isObject } from '../../../domain/core/is-object.ts';
import type { ClusterObject, ObjectEvent } from '../../../domain/core/object-map.ts';

/** Masks what listeners send about objects, and withholds messages. Pure. */

type Mask = (text: string) => string;

/** Shown instead of messages that may quote values that the hub does not know. */
export const WITHHELD =
  '[withheld: the deployment uses secret_references, so messages of its pods need the scope secrets:read]';

/** Fields of objects and events whose texts come from pods or the cluster. */
const TEXTS: ReadonlySet<string> = new Set(['message', 'reason', 'image']);

/** Objects and events with their texts masked. Names, kinds and states are kept. */
export function maskMessages<Value>(value: Value, mask: Mask): Value {
  if (Array.isArray(value)) return value.map((member) => maskMessages(member, mask)) as Value;
  if (!isObject(value)) return value;
  const masked = Object.entries(value).map(([key, member]) => [
    key,
    TEXTS.has(key) && typeof member === 'string' ? mask(member) : maskMessages(member, mask),
  ]);
  return Object.fromEntries(masked) as Value;
}

/** An object as the cluster stores it, as JSON. */
export type Manifest = Record<string, unknown>;

/** The manifest that a listener sent; null: it is not an object, or is nested too deeply. */
export function parseManifest(json: string): Manifest | null {
  try {
    const value: unknown = JSON.parse(json);
    return isObject(value) && !isDeeper(value, MAX_LEVELS) ? value : null;
  } catch {
    return null;
  }
}

/** Whether the messages of an object can quote what its pods print, or the errors of their start. */
const mayQuote = ({ kind }: Pick<ClusterObject, 'kind'>) => kind !== 'Service' && kind !== 'ServiceAccount';

/** An object without messages. */
export function withoutMessages(object: ClusterObject): ClusterObject {
  const { message, pod } = object;
  return {
    ...object,
    message: message !== null && mayQuote(object) ? WITHHELD : message,
    ...(pod === undefined ? {} : { pod: { ...pod, containers: pod.containers.map(withoutMessage) } }),
  };
}

const withoutMessage = <Item extends { message?: string | undefined }>(item: Item): Item =>
  item.message === undefined ? item : { ...item, message: WITHHELD };

/** Events without messages. */
export const eventsWithoutMessages = (events: readonly ObjectEvent[]) => events.map(withoutMessage);

/** A manifest whose status has no messages. */
export function manifestWithoutMessages(manifest: Manifest): Manifest {
  return 'status' in manifest ? { ...manifest, status: withholdMessages(manifest['status']) } : manifest;
}

function withholdMessages(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withholdMessages);
  if (!isObject(value)) return value;
  const members = Object.entries(value).map(([key, member]) => [
    key,
    key === 'message' && typeof member === 'string' ? WITHHELD : withholdMessages(member),
  ]);
  return Object.fromEntries(members);
}
