import { randomUUID } from 'node:crypto';
import type { Deployment } from '../api.gen.ts';
import { readBody } from '../body-file.ts';
import { ApiProblem, isMissing } from '../call-problem.ts';
import type { InputOf } from '../client.ts';
import { type Context, noteEffects } from '../context.ts';
import type { End } from '../exit-codes.ts';
import { given } from '../given.ts';
import { lookUpDeployment } from '../lookup.ts';
import { createdRevision } from '../revisions/created-revision.ts';
import { settle, type WaitOptions, waitSeconds } from '../wait.ts';
import { showDeployment } from './views.ts';

/** Commands that change deployments. Their results never contain the values of secrets. */

export const DEPLOYMENT = '/v2/deployments/{deployment_id}';
type Change = InputOf<'patch', typeof DEPLOYMENT>;

/** The current state of a changed deployment, or the response to its change if it cannot be read. */
export async function latest(context: Context, made: Deployment): Promise<Deployment> {
  const params = { path: { deployment_id: made.id }, query: { mask_secrets: true } };
  try {
    return await context.client.GET(DEPLOYMENT, { params });
  } catch (error) {
    if (error instanceof ApiProblem) return made;
    throw error;
  }
}

/**
 * Waits, then prints the deployment, even if the wait failed, so that its id is known.
 * @param awaited the revision that must become active; null: the latest revision
 */
export async function wrote(
  context: Context,
  made: Deployment,
  seconds: number | null,
  awaited: string | null,
): Promise<End> {
  let shown = made;
  try {
    if (seconds === null) return 'reached';
    const end = await settle(context, made, seconds, awaited);
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
    params: { query: { mask_secrets: true }, header: { 'Idempotency-Key': randomUUID() } },
    body,
  });
  return wrote(context, made as Deployment, seconds, made.latest_revision_id);
}

async function changed(context: Context, id: string, body: Change): Promise<Deployment> {
  const made = await context.client.PATCH(DEPLOYMENT, {
    params: { path: { deployment_id: id }, query: { mask_secrets: true } },
    body,
  });
  noteEffects(context, made);
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
  const made = await changed(context, id, body);
  return wrote(context, made, seconds, revisionOf(body, made));
}

/**
 * The revision that a change waits for. A change of source_config has no revision: it is in effect when the latest
 * revision is ready, also if someone else has created this revision.
 */
function revisionOf(body: Change, made: Deployment): string | null {
  const hasRevision = Object.keys(body ?? {}).some((field) => field !== 'source_config');
  return hasRevision ? made.latest_revision_id : null;
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
  const body = { source_config: { resource_spec: given({ min_scale: min, max_scale: max }) } };
  return wrote(context, await changed(context, id, body), seconds, null);
}

/** The deployment to deploy. If it does not exist, the next step is to create it. */
async function deployed(context: Context, word: string): Promise<Deployment> {
  try {
    return await lookUpDeployment(context.client, word, true);
  } catch (error) {
    if (!isMissing(error)) throw error;
    throw new ApiProblem(404, error.message, 'berth deployments create -f FILE');
  }
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
  const before = await deployed(context, name);
  const body = { source_revision_config: given({ image_uri: image, repo_ref: ref }) };
  const made = await changed(context, before.id, body);
  if (made.latest_revision_id !== before.latest_revision_id)
    return wrote(context, made, seconds, made.latest_revision_id);
  const params = { path: { deployment_id: before.id }, header: { 'Idempotency-Key': randomUUID() } };
  const revision = createdRevision(await context.client.POST(`${DEPLOYMENT}/revisions`, { params }));
  context.note(`created revision ${revision.number} with the same content`);
  return wrote(context, await latest(context, made), seconds, revision.id);
}
