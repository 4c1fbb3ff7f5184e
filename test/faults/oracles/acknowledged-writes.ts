/** O6: every acknowledged write is present. */
import type { DeploymentAnswer } from '../../integration/harness/berth-setup.ts';
import type { Acknowledged, FaultWorld } from '../world.ts';

interface FullAnswer extends DeploymentAnswer {
  readonly source_revision_config: unknown;
  readonly secrets: unknown;
}

const PATH = /^\/v2\/deployments\/([0-9a-f-]{36})/;

const deploymentOf = ({ path, answer }: Acknowledged): string | undefined =>
  PATH.exec(path)?.[1] ?? (path === '/v2/deployments' ? answer.body?.id : undefined);

/** One line for each acknowledged write that was lost. */
export async function lostWrites(world: FaultWorld): Promise<string[]> {
  const byDeployment = new Map<string, Acknowledged[]>();
  for (const write of world.acknowledged()) {
    const id = deploymentOf(write);
    if (id !== undefined) byDeployment.set(id, [...(byDeployment.get(id) ?? []), write]);
  }
  const lines: string[] = [];
  // Sequential, because a connection that this process keeps open would count as a leak of the API process (O8).
  for (const [id, writes] of byDeployment) lines.push(...(await lostOf(world, id, writes)));
  return lines;
}

async function lostOf(world: FaultWorld, id: string, writes: readonly Acknowledged[]): Promise<string[]> {
  const last = writes.at(-1);
  const deletion = writes.findLast(({ method, path }) => method === 'DELETE' && path.endsWith(id));
  const found = await world.call<FullAnswer>('GET', `/v2/deployments/${id}`);
  if (deletion !== undefined) {
    const isGoing = found.status === 404 || found.body.status === 'AWAITING_DELETE';
    return isGoing || last !== deletion
      ? []
      : [`DELETE ${id} was acknowledged, but the status is ${found.body.status}`];
  }
  if (found.status !== 200)
    return [`${last?.method} ${last?.path} was acknowledged, but GET returns ${found.status}`];
  const numbers = writes.map(({ answer }) => answer.body?.generation ?? 0);
  const revisions = new Set(
    (await world.sql<{ id: string }>('SELECT id FROM revisions WHERE deployment_id = $1', [id])).map(
      (row) => row.id,
    ),
  );
  const answer = last?.answer.body as FullAnswer | null | undefined;
  return [
    ...(found.body.generation < Math.max(...numbers)
      ? [`generation ${Math.max(...numbers)} was acknowledged, ${found.body.generation} is stored`]
      : []),
    ...writes
      .map(({ answer: { body } }) => body?.latest_revision_id)
      .filter((revision) => typeof revision === 'string' && !revisions.has(revision))
      .map((revision) => `revision ${revision} was acknowledged, but is not stored`),
    // A later write may have been applied although its response was lost. In this case the generation is higher.
    ...(answer?.source_config !== undefined && found.body.generation === answer.generation
      ? (['source_config', 'source_revision_config', 'secrets'] as const)
          .filter((field) => JSON.stringify(found.body[field]) !== JSON.stringify(answer[field]))
          .map((field) => `${field} differs from the acknowledged value`)
      : []),
  ];
}
