/** The call that a step makes. */
import { getRevisions, patchDeployment, repeatRevision } from './answers.ts';
import type { WalkStep } from './record.ts';
import type { ApiAnswer, WalkWorld } from './world.ts';

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
