import { randomUUID } from 'node:crypto';
import type { Deployment } from '../api.gen.ts';
import { readBody } from '../body-file.ts';
import { ApiProblem } from '../call-problem.ts';
import type { InputOf } from '../client.ts';
import { type Context, isMasked, show } from '../context.ts';
import type { End } from '../exit-codes.ts';
import { lookUpDeployment } from '../lookup.ts';
import { cell } from '../table.ts';
import { confirm } from '../terminal/confirm.ts';
import { settle, type WaitOptions, waitSeconds } from '../wait.ts';
import { showDeployment } from './views.ts';

/** Commands that change deployments. */

const DEPLOYMENT = '/v2/deployments/{deployment_id}';
type Change = InputOf<'patch', typeof DEPLOYMENT>;

/** The current state of a changed deployment, or the response to its change if it cannot be read. */
async function latest(context: Context, made: Deployment): Promise<Deployment> {
  const params = { path: { deployment_id: made.id }, query: { mask_secrets: isMasked(context) } };
  try {
    return await context.client.GET(DEPLOYMENT, { params });
  } catch (error) {
    if (error instanceof ApiProblem) return made;
    throw error;
  }
}

/** Waits, then prints the deployment, even if the wait failed, so that its id is known. */
async function wrote(context: Context, made: Deployment, seconds: number | null): Promise<End> {
  let shown = made;
  try {
    if (seconds === null) return 'reached';
    const end = await settle(context, made, seconds);
    if (end !== 'unknown') shown = await latest(context, made);
    return end;
  } finally {
    await showDeployment(context, shown);
  }
}

export async function create(context: Context, options: WaitOptions & { file: string }): Promise<End> {
  const seconds = waitSeconds(options);
  const body = (await readBody(options.file)) as InputOf<'post', '/v2/deployments'>;
  const made = await context.client.POST('/v2/deployments', {
    params: { query: { mask_secrets: isMasked(context) }, header: { 'Idempotency-Key': randomUUID() } },
    body,
  });
  return wrote(context, made as Deployment, seconds);
}

async function changed(context: Context, id: string, body: Change): Promise<Deployment> {
  const made = await context.client.PATCH(DEPLOYMENT, {
    params: { path: { deployment_id: id }, query: { mask_secrets: isMasked(context) } },
    body,
  });
  for (const effect of made.effects ?? []) context.note(cell(effect));
  return made as Deployment;
}

export async function patch(
  context: Context,
  name: string,
  options: WaitOptions & { file: string },
): Promise<End> {
  const seconds = waitSeconds(options);
  const body = (await readBody(options.file)) as Change;
  const { id } = await lookUpDeployment(context.client, name, true);
  return wrote(context, await changed(context, id, body), seconds);
}

/** Sets the number of pods. */
export async function scale(
  context: Context,
  name: string,
  options: WaitOptions & { min?: number; max?: number },
): Promise<End> {
  const seconds = waitSeconds(options);
  const { min, max } = options;
  const { id } = await lookUpDeployment(context.client, name, true);
  const spec = {
    ...(min === undefined ? {} : { min_scale: min }),
    ...(max === undefined ? {} : { max_scale: max }),
  };
  const body = { source_config: { resource_spec: spec } };
  return wrote(context, await changed(context, id, body), seconds);
}

/**
 * Deploys an image or a ref. If the deployment already has it, a new revision resolves the tag again, or builds the newest
 * commit.
 */
export async function deploy(
  context: Context,
  name: string,
  options: WaitOptions & { image?: string; ref?: string },
): Promise<End> {
  const seconds = waitSeconds(options);
  const { image, ref } = options;
  const before = await lookUpDeployment(context.client, name, true);
  const body = {
    source_revision_config: {
      ...(image === undefined ? {} : { image_uri: image }),
      ...(ref === undefined ? {} : { repo_ref: ref }),
    },
  };
  let made = await changed(context, before.id, body);
  if (made.latest_revision_id === before.latest_revision_id) {
    const params = {
      path: { deployment_id: before.id },
      header: { 'Idempotency-Key': randomUUID() },
    };
    const revision = await context.client.POST(`${DEPLOYMENT}/revisions`, { params });
    context.note(`created revision ${revision.number} with the same content`);
    made = await latest(context, made);
  }
  return wrote(context, made, seconds);
}

export async function restore(context: Context, name: string, options: WaitOptions): Promise<End> {
  const seconds = waitSeconds(options);
  const { id } = await lookUpDeployment(context.client, name, true);
  const restored = await context.client.POST(`${DEPLOYMENT}/restore`, {
    params: { path: { deployment_id: id }, query: { mask_secrets: isMasked(context) } },
  });
  return wrote(context, restored, seconds);
}

export interface DeleteOptions {
  readonly yes: boolean;
  readonly deleteTracingProject: boolean;
  readonly keepWorkloads: boolean;
  readonly force: boolean;
}

/** What the question says about the data. */
const fateOf = ({ keepWorkloads }: DeleteOptions) =>
  keepWorkloads ? 'and leave its workloads in the cluster' : 'with its database and cache';

export async function remove(
  context: Context,
  word: string,
  options: WaitOptions & DeleteOptions,
): Promise<End> {
  const seconds = waitSeconds(options);
  const { id, name } = await lookUpDeployment(context.client, word, true);
  await confirm(`Delete the deployment "${cell(name)}" ${fateOf(options)}?`, options.yes);
  const query = {
    delete_tracing_project: options.deleteTracingProject,
    ...(options.keepWorkloads ? { keep_workloads: true } : {}),
    ...(options.force ? { force: true } : {}),
  };
  await context.client.DELETE(DEPLOYMENT, { params: { path: { deployment_id: id }, query } });
  if (seconds !== null) return settle(context, { id, name }, seconds);
  await show(
    context,
    { id, status: 'AWAITING_DELETE' },
    { table: () => `${cell(name)} is being deleted`, names: () => [name] },
  );
  return 'reached';
}
