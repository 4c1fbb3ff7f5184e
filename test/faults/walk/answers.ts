/** Responses of the API, with the fields that a walk reads. */
import { domainsOf } from '../../../src/domain/app-hosts/domains.ts';
import type { Secret } from '../../../src/domain/deployment/deployment.ts';
import { type PodSettings, podSettingsOf } from '../../../src/domain/pod-settings/pod-settings.ts';
import type { ResourceSpec } from '../../../src/domain/resource-spec/resource-spec.ts';
import { type RunSettings, runSettingsOf } from '../../../src/domain/run-settings/run-settings.ts';
import { type LaneIdentity, type PatchOfWalk, type WalkRecord, withPodSettings } from './record.ts';
import type { WalkWorld } from './world.ts';

export interface WalkCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

export interface WalkDeployment {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly generation: number;
  readonly observed_generation: number;
  readonly remote_reconciled: boolean;
  readonly latest_revision_id: string;
  readonly active_revision_id: string | null;
  readonly image_version: string | null;
  readonly updated_at: string;
  readonly url: string | null;
  readonly conditions: readonly WalkCondition[];
  readonly secrets: readonly Secret[];
  readonly source_config: {
    readonly resource_spec: ResourceSpec | null;
    readonly custom_url: string | null;
    readonly domains?: readonly string[];
  } & PodSettings;
  readonly source_revision_config: { readonly image_uri: string } & RunSettings;
  readonly effective_resource_spec: unknown;
}

export interface WalkRevision {
  readonly id: string;
  readonly number: number;
  readonly status: string;
  readonly reason: string | null;
  readonly message: string | null;
}

export interface WalkEvent {
  readonly id: string;
  readonly reason: string;
  readonly message: string | null;
}

/** Sorts keys, because their order has no meaning. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, member]) => [key, sorted(member)]));
}

/** A text that is equal for equal values. */
export function canonical(value: unknown): string {
  return JSON.stringify(sorted(value));
}

/** The record in a response, without unset fields. */
export function recordOf({
  source_config: config,
  source_revision_config: revision,
  secrets,
}: WalkDeployment): WalkRecord {
  const spec = Object.fromEntries(
    Object.entries(config.resource_spec ?? {}).filter(([, value]) => value != null),
  ) as ResourceSpec;
  const inOrder = [...secrets].sort((a, b) => (a.name < b.name ? -1 : 1));
  return {
    spec,
    image: revision.image_uri,
    settings: runSettingsOf(revision),
    secrets: inOrder,
    customUrl: config.custom_url,
    ...domainsOf(config),
    ...withPodSettings(podSettingsOf(config)),
  };
}

/** The record as text, for comparison. */
export function recordText({ secrets, podSettings = {}, ...others }: WalkRecord): string {
  const inOrder = [...secrets].sort((a, b) => (a.name < b.name ? -1 : 1));
  return canonical({ ...others, secrets: inOrder, ...withPodSettings(podSettings) });
}

const path = (id: string) => `/v2/deployments/${id}`;

/** The API returned another status than expected. */
export class UnexpectedAnswer extends Error {}

async function ok<T>(world: WalkWorld, at: string): Promise<T> {
  const { status, body } = await world.call<T>('GET', at);
  if (status !== 200) throw new UnexpectedAnswer(`GET ${at}: ${status} ${JSON.stringify(body)}`);
  return body;
}

export function getDeployment(world: WalkWorld, id: string): Promise<WalkDeployment> {
  return ok(world, path(id));
}

export function getRevision(world: WalkWorld, id: string, revision: string): Promise<WalkRevision> {
  return ok(world, `${path(id)}/revisions/${revision}`);
}

/** The last 20 revisions, newest first. */
export async function getRevisions(world: WalkWorld, id: string): Promise<readonly WalkRevision[]> {
  return (await ok<{ resources: WalkRevision[] }>(world, `${path(id)}/revisions?limit=20`)).resources;
}

export async function getEvents(world: WalkWorld, id: string): Promise<readonly WalkEvent[]> {
  return (await ok<{ resources: WalkEvent[] }>(world, `${path(id)}/events?limit=100`)).resources;
}

/** @throws UnexpectedAnswer unless the status is 201 */
export async function createDeployment(
  world: WalkWorld,
  name: string,
  { type }: LaneIdentity,
  { spec, image, settings, podSettings, secrets, customUrl, domains }: WalkRecord,
): Promise<WalkDeployment> {
  const body = {
    name,
    source: 'external_image',
    source_config: {
      deployment_type: type,
      resource_spec: spec,
      custom_url: customUrl,
      ...domainsOf({ domains }),
      ...podSettings,
    },
    source_revision_config: { image_uri: image, ...settings },
    secrets,
  };
  const answer = await world.call<WalkDeployment>('POST', '/v2/deployments', body);
  if (answer.status === 201) return answer.body;
  throw new UnexpectedAnswer(`failed to create ${name}: ${answer.status} ${JSON.stringify(answer.body)}`);
}

export function patchDeployment(world: WalkWorld, id: string, body: PatchOfWalk) {
  return world.call<unknown>('PATCH', path(id), body);
}

/** Posts to `how` (such as `rollback`) of this revision. Without a revision, creates a new revision of the same record. */
export function repeatRevision(world: WalkWorld, id: string, how: string, revision?: string) {
  const at = revision === undefined ? `${path(id)}/revisions` : `${path(id)}/revisions/${revision}/${how}`;
  return world.call<unknown>('POST', at);
}

export function deleteDeployment(world: WalkWorld, id: string) {
  return world.call<unknown>('DELETE', path(id));
}
