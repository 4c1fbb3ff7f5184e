import { MAX_MANIFEST_CHARACTERS } from '../../../contract/protocol/object-protocol.ts';
import { LABELS } from '../../../contract/resource/names.ts';
import { isDeeper, MAX_LEVELS } from '../../../domain/core/depth.ts';
import { UUID_PATTERN } from '../../../domain/core/id.ts';
import {
  type ClusterObject,
  clusterTime,
  MAX_OBJECT_EVENTS,
  type ObjectEvent,
  type ReadKind,
} from '../../../domain/core/object-map.ts';
import { controllerOf, type KubeObject, type UntypedObject } from '../../kube/client/object.ts';
import { judge } from './object-state.ts';
import { cut } from './object-text.ts';
import { type Amounts, podView, type SeenPod } from './pod-view.ts';
import { secretsOf } from './secret-names.ts';

/** Objects of a cluster in the form of the protocol. Pure. */

const MAX_LABEL = 63;
/** Label value of objects that belong to the whole deployment. */
const WHOLE = 'app';

/** Usage of containers, by pod and container. */
export type Usage = ReadonlyMap<string, ReadonlyMap<string, Amounts>>;

/** @param usage of all pods; absent: not known */
export function clusterObject(kind: ReadKind, object: KubeObject, usage?: Usage): ClusterObject {
  const { name, labels = {}, creationTimestamp } = object.metadata;
  const owner = controllerOf(object);
  const component = labels[LABELS.component];
  const revision = labels[LABELS.revisionId] ?? '';
  const { state, message } = judge(kind, object);
  return {
    kind,
    api_version: object.apiVersion,
    name,
    owner: owner === undefined ? null : { kind: cut(owner.kind, 128), name: owner.name },
    component: component === undefined || component === WHOLE ? null : cut(component, MAX_LABEL),
    revision_id: UUID_PATTERN.test(revision) ? revision : null,
    state,
    message: message === null ? null : cut(message),
    created_at: clusterTime(creationTimestamp),
    ...(kind === 'Pod' ? { pod: podView(object as SeenPod, usage?.get(name)) } : {}),
  };
}

/** The Secrets that these workloads use. */
export function secretObjects(workloads: readonly KubeObject[]): ClusterObject[] {
  return secretsOf(workloads).map(({ name, user }) => ({
    kind: 'Secret',
    api_version: 'v1',
    name,
    owner: { kind: user.kind, name: user.metadata.name },
    component: null,
    revision_id: null,
    state: 'unknown',
    message: null,
    created_at: null,
  }));
}

/** Annotation of `kubectl apply`: a copy of the object. */
const COPY = 'kubectl.kubernetes.io/last-applied-configuration';

/** An object as JSON, without managedFields and without copies of itself; null: it is too large. */
export function manifestOf({ metadata, ...rest }: UntypedObject): string | null {
  const { managedFields: _, annotations, ...kept } = metadata;
  const { [COPY]: _copy, ...others } = annotations ?? {};
  const isAnnotated = Object.keys(others).length > 0;
  const { apiVersion, kind, ...content } = rest;
  const manifest = {
    apiVersion,
    kind,
    metadata: { ...kept, ...(isAnnotated ? { annotations: others } : {}) },
    ...content,
  };
  if (isDeeper(manifest, MAX_LEVELS)) return null;
  const json = JSON.stringify(manifest);
  return json.length > MAX_MANIFEST_CHARACTERS ? null : json;
}

/** An Event of Kubernetes. Clients of the events API set other fields than older ones. */
export interface SeenEvent extends KubeObject {
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly count?: number;
  readonly firstTimestamp?: string | null;
  readonly lastTimestamp?: string | null;
  readonly eventTime?: string | null;
  readonly series?: { readonly count?: number; readonly lastObservedTime?: string };
  readonly source?: { readonly component?: string };
  readonly reportingComponent?: string;
}

function objectEvent(event: SeenEvent): ObjectEvent {
  const { type = 'Normal', reason = '', message = '', series, source } = event;
  const first = clusterTime(event.firstTimestamp ?? event.eventTime ?? event.metadata.creationTimestamp);
  return {
    type: cut(type, 32),
    reason: cut(reason, 128),
    message: cut(message),
    count: Math.max(1, series?.count ?? event.count ?? 1),
    first_at: first,
    last_at: clusterTime(series?.lastObservedTime ?? event.lastTimestamp) ?? first,
    source: cut(source?.component || event.reportingComponent || 'unknown', 253),
  };
}

const timeOf = ({ last_at: at }: ObjectEvent) => Date.parse(at ?? '') || 0;

/** Newest first. */
export const objectEvents = (events: readonly SeenEvent[]): ObjectEvent[] =>
  events
    .map(objectEvent)
    .sort((a, b) => timeOf(b) - timeOf(a))
    .slice(0, MAX_OBJECT_EVENTS);
