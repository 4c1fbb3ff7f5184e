import type { Deployment } from './api.gen.ts';
import { ApiProblem, isMissing } from './call-problem.ts';
import type { Answer, Client } from './client.ts';
import { given } from './given.ts';
import { itemsOf } from './paging.ts';
import { quoted } from './table.ts';

/** Finds deployments and revisions by name, id or number. */

export type Revision = Answer<'get', '/v2/deployments/{deployment_id}/revisions/{revision_id}'>;

export const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const PAGE = 100;

/**
 * The deployment with an id. null: it does not exist.
 * @param signal aborts the call. Default: the signal of the client
 * @throws ApiProblem
 */
export async function deploymentById(
  client: Client,
  id: string,
  mask: boolean,
  signal?: AbortSignal,
): Promise<Deployment | null> {
  const params = { path: { deployment_id: id }, query: { mask_secrets: mask } };
  try {
    // An explicit undefined would replace the signal of the client.
    return await client.GET('/v2/deployments/{deployment_id}', { params, ...given({ signal }) });
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

async function holdersOf(client: Client, name: string, mask: boolean): Promise<Deployment[]> {
  const query = { name, mask_secrets: mask, limit: PAGE };
  return (await client.GET('/v2/deployments', { params: { query } })).resources;
}

const isLive = ({ status }: Deployment) => status !== 'AWAITING_DELETE';

/**
 * The deployment that has a name and is not being deleted. null: a new deployment can have the name.
 * @throws ApiProblem
 */
export async function liveByName(client: Client, name: string, mask: boolean): Promise<Deployment | null> {
  const live = (await holdersOf(client, name, mask)).filter(isLive);
  return live.find((deployment) => deployment.name === name) ?? live[0] ?? null;
}

async function byName(client: Client, name: string, mask: boolean): Promise<Deployment | null> {
  const resources = await holdersOf(client, name, mask);
  const live = resources.filter(isLive);
  const found = live.length > 0 ? live : resources;
  const same = found.find((deployment) => deployment.name === name);
  // Stored names that differ only in their Unicode normalization may be equal to the API.
  if (same === undefined && live.length > 1)
    throw new ApiProblem(
      409,
      `"${name}" is the name of several deployments: ${live.map(({ id }) => id).join(', ')}. Use an id.`,
    );
  return same ?? found[0] ?? null;
}

/**
 * Finds a deployment by id or name. Of several deployments with the name, one that is not being deleted takes
 * precedence.
 * @throws ApiProblem when no deployment matches, or when the argument is the id of one deployment and the name of
 * another
 */
export async function lookUpDeployment(client: Client, word: string, mask: boolean): Promise<Deployment> {
  // A name may look like an id.
  const [named, identified] = await Promise.all([
    byName(client, word, mask),
    UUID.test(word) ? deploymentById(client, word, mask) : null,
  ]);
  if (named !== null && identified !== null && named.id !== identified.id)
    throw new ApiProblem(
      409,
      `"${word}" is the id of the deployment "${identified.name}" and the name of another, ${named.id}: use the name of the first, or the id of the second`,
    );
  const found = identified ?? named;
  if (found === null)
    throw new ApiProblem(404, `404: there is no deployment "${word}"`, 'berth deployments list');
  return found;
}

/** All revisions of a deployment, newest first, page by page. */
export const revisionsOf = (client: Client, deploymentId: string): AsyncGenerator<Revision, void> =>
  itemsOf((query) =>
    client.GET('/v2/deployments/{deployment_id}/revisions', {
      params: { path: { deployment_id: deploymentId }, query },
    }),
  );

/**
 * Id of a revision, given by id or number. Default: the latest revision.
 * @throws ApiProblem when the revision does not exist
 */
export async function findRevisionId(
  client: Client,
  deployment: Deployment,
  word: string | undefined,
): Promise<string> {
  if (word !== undefined && UUID.test(word)) return word;
  if (word === undefined) {
    if (deployment.latest_revision_id !== null) return deployment.latest_revision_id;
    throw new ApiProblem(
      404,
      `404: the deployment "${deployment.name}" has no revision yet`,
      `berth revisions list ${quoted(deployment.name)}`,
    );
  }
  for await (const revision of revisionsOf(client, deployment.id))
    if (String(revision.number) === word) return revision.id;
  throw new ApiProblem(
    404,
    `404: the deployment "${deployment.name}" has no revision ${word}`,
    `berth revisions list ${quoted(deployment.name)}`,
  );
}
