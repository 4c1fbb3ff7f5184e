import type { Deployment } from '../api.gen.ts';
import { ApiProblem } from '../call-problem.ts';
import { type Context, show } from '../context.ts';
import type { End } from '../exit-codes.ts';
import { deploymentById, lookUpDeployment, UUID } from '../lookup.ts';
import { cell } from '../table.ts';
import { confirm } from '../terminal/confirm.ts';
import { settleDeletion, type WaitOptions, waitSeconds } from '../wait.ts';
import { DEPLOYMENT, wrote } from './write.ts';

/** Commands that delete and restore deployments. */

export interface DeleteOptions {
  readonly yes: boolean;
  readonly deleteTracingProject: boolean;
  readonly keepWorkloads: boolean;
  readonly force: boolean;
}

function question(name: string, { force, keepWorkloads }: DeleteOptions): string {
  const what = `the deployment "${cell(name)}"`;
  if (force)
    return `Remove ${what} from Berth at once? Its workloads and data stay until its cluster connects again.`;
  return keepWorkloads
    ? `Delete ${what} and leave its workloads and data in the cluster?`
    : `Delete ${what} with its database and cache?`;
}

/** Whether a deployment is gone. False if the API does not tell. */
async function isGone({ client }: Context, id: string): Promise<boolean> {
  try {
    return (await deploymentById(client, id, true)) === null;
  } catch (error) {
    if (error instanceof ApiProblem) return false;
    throw error;
  }
}

/** Prints what is known after the wait, even if the wait failed. Commands accept the id of a deleted deployment. */
async function deleted(
  context: Context,
  { id, name }: Pick<Deployment, 'id' | 'name'>,
  seconds: number | null,
): Promise<End> {
  try {
    return seconds === null ? 'reached' : await settleDeletion(context, id, seconds);
  } finally {
    const gone = await isGone(context, id);
    await show(
      context,
      { id, name, deleted: gone },
      { table: () => `${cell(name)} is ${gone ? 'deleted' : 'being deleted'}`, names: () => [id] },
    );
  }
}

export async function remove(
  context: Context,
  word: string,
  options: WaitOptions & DeleteOptions,
): Promise<End> {
  const seconds = waitSeconds(options);
  const found = await lookUpDeployment(context.client, word, true);
  await confirm(question(found.name, options), options.yes);
  const query = {
    delete_tracing_project: options.deleteTracingProject,
    ...(options.keepWorkloads ? { keep_workloads: true } : {}),
    ...(options.force ? { force: true } : {}),
  };
  await context.client.DELETE(DEPLOYMENT, { params: { path: { deployment_id: found.id }, query } });
  return deleted(context, found, seconds);
}

/** Deployments with a name that are being deleted. Several can have the same name. */
async function beingDeleted({ client }: Context, name: string): Promise<Deployment[]> {
  const query = { name, status: 'AWAITING_DELETE', mask_secrets: true, limit: 100 } as const;
  return (await client.GET('/v2/deployments', { params: { query } })).resources;
}

/**
 * The id of the deployment to restore.
 * @throws ApiProblem when none is being deleted, or several with the name are
 */
async function idToRestore(context: Context, word: string): Promise<string> {
  const found = await beingDeleted(context, word);
  const [first, ...others] = found;
  if (first === undefined && UUID.test(word)) return word;
  if (first === undefined)
    throw new ApiProblem(
      404,
      `404: no deployment "${word}" is being deleted`,
      'berth deployments list --status AWAITING_DELETE',
    );
  if (others.length === 0) return first.id;
  throw new ApiProblem(
    409,
    `several deployments "${word}" are being deleted: ${found.map(({ id }) => id).join(', ')}`,
    'berth restore ID',
  );
}

export async function restore(context: Context, word: string, options: WaitOptions): Promise<End> {
  const seconds = waitSeconds(options);
  const id = await idToRestore(context, word);
  const restored = await context.client.POST(`${DEPLOYMENT}/restore`, {
    params: { path: { deployment_id: id }, query: { mask_secrets: true } },
  });
  return wrote(context, restored, seconds, null);
}
