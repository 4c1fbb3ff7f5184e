/** Sends the call of a step, and collects the rejections that its response reports. */
import type { Reason } from '../../../src/domain/conditions/conditions.ts';
import { getRevisions, patchDeployment, repeatRevision, type WalkDeployment } from './answers.ts';
import type { WalkStep } from './record.ts';
import type { ApiAnswer, WalkWorld } from './world.ts';

/** Sends the call of a step. */
export async function send(
  world: WalkWorld,
  id: string,
  { call }: WalkStep,
  tagValueId: string,
): Promise<ApiAnswer<unknown>> {
  if (call.kind === 'patch') return await patchDeployment(world, id, call.body);
  if (call.kind === 'new-revision') return await repeatRevision(world, id, call.kind);
  if (call.kind === 'tags') {
    const tags = { tag_value_ids: call.on ? [tagValueId] : [] };
    return await world.call<unknown>('PUT', `/v2/deployments/${id}/tag-values`, tags);
  }
  const revisions = await getRevisions(world, id);
  const revision = revisions[Math.min(call.back, revisions.length - 1)];
  return await repeatRevision(world, id, call.kind, revision?.id ?? '');
}

/** Reasons of conditions and events that no step of a walk may cause. */
export const REJECTIONS: ReadonlySet<string> = new Set<Reason>([
  'Refused',
  'ApplyRefused',
  'Conflict',
  'RecordInvalid',
  'RouteRefused',
  'DomainRefused',
  'NamespaceNotAllowed',
  'EnvironmentMissing',
  'CredentialsLost',
  'VolumeNotExpandable',
  'VolumeBeingDeleted',
]);

/** Adds the rejections in the conditions of a deployment to a set. */
export function collectRejections({ conditions }: WalkDeployment, into: Set<string>): void {
  for (const { type, reason, message } of conditions) {
    if (REJECTIONS.has(reason)) into.add(`${type}: ${reason}: ${message}`);
  }
}
