import { isDeeper, MAX_LEVELS } from '../../../domain/core/depth.ts';
import { isObject } from '../../../domain/core/is-object.ts';
import type { ClusterObject, ObjectEvent, ReadKind } from '../../../domain/core/object-map.ts';
import { maskCredentials } from '../../../domain/redaction/printed-credentials.ts';

/** Masks what listeners send about objects, and withholds messages. Pure. */

type Mask = (text: string) => string;

/** Shown instead of messages that may quote values that the hub does not know. */
export const WITHHELD =
  '[withheld: the deployment uses secret_references, so messages of its pods need the scope secrets:read]';

/** The kind whose messages the operator writes. It has masked what it quotes, and a second time would mask its own sentences. */
const OPERATED: ReadKind = 'ManagedDeployment';

/**
 * Masks credentials of a known form in a message of the cluster, which can quote what a program printed, by the rule of the
 * status. The hub does not know all secrets: for example, the operator creates those of databases. Known values are masked
 * before, because a credential can be a part of one.
 */
const withoutPrinted: Mask = (message) => (message === WITHHELD ? message : maskCredentials(message));

/** Fields of objects and events whose texts come from pods or the cluster, apart from messages. */
const TEXTS: ReadonlySet<string> = new Set(['reason', 'image']);

/** Objects and events with their texts masked. Names, kinds and states are kept. */
export function maskMessages<Value>(value: Value, mask: Mask): Value {
  if (Array.isArray(value)) return value.map((member) => maskMessages(member, mask)) as Value;
  if (!isObject(value)) return value;
  const maskMessage: Mask = value['kind'] === OPERATED ? mask : (message) => withoutPrinted(mask(message));
  const maskOf = (key: string, member: unknown) => {
    if (typeof member !== 'string') return maskMessages(member, mask);
    if (key === 'message') return maskMessage(member);
    return TEXTS.has(key) ? mask(member) : member;
  };
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, maskOf(key, member)]),
  ) as Value;
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
export const manifestWithoutMessages = (manifest: Manifest): Manifest =>
  withStatusMessages(manifest, () => WITHHELD);

/** A manifest with masked messages in its status. The writer of YAML masks known values in all texts. */
export const maskStatus = (manifest: Manifest, mask: Mask): Manifest =>
  manifest['kind'] === OPERATED
    ? manifest
    : withStatusMessages(manifest, (message) => withoutPrinted(mask(message)));

const withStatusMessages = (manifest: Manifest, change: Mask): Manifest =>
  'status' in manifest ? { ...manifest, status: withMessages(manifest['status'], change) } : manifest;

function withMessages(value: unknown, change: Mask): unknown {
  if (Array.isArray(value)) return value.map((member) => withMessages(member, change));
  if (!isObject(value)) return value;
  const members = Object.entries(value).map(([key, member]) => [
    key,
    key === 'message' && typeof member === 'string' ? change(member) : withMessages(member, change),
  ]);
  return Object.fromEntries(members);
}
