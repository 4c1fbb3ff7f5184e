import type { Format } from '../../command/output.ts';
import { UsageError } from '../../command/usage-error.ts';
import type { Deployment } from '../api.gen.ts';
import { ApiProblem } from '../call-problem.ts';
import type { QueryOf } from '../client.ts';
import { type Context, show } from '../context.ts';
import type { End } from '../exit-codes.ts';
import { given } from '../given.ts';
import { lookUpDeployment } from '../lookup.ts';
import { allOf } from '../paging.ts';
import { fields, quoted } from '../table.ts';
import { alwaysSeconds, settle } from '../wait.ts';
import { showDeployment, showDeployments } from './views.ts';

/** Commands that read deployments. */

type Query = QueryOf<'get', '/v2/deployments'>;

export interface SecretOptions {
  /** False: the values are masked. */
  readonly showSecrets: boolean;
}

export interface ListOptions extends SecretOptions {
  readonly status?: NonNullable<Query['status']>;
  readonly nameContains?: string;
  readonly imageVersion?: string;
  readonly type?: NonNullable<Query['deployment_type']>;
}

/**
 * @param without formats that do not contain secrets
 * @throws UsageError
 */
function checkFormat({ format }: Context, { showSecrets }: SecretOptions, without: readonly Format[]): void {
  if (showSecrets && without.includes(format))
    throw new UsageError(
      `-o ${format} contains no secrets: remove --show-secrets, or use -o json or -o yaml`,
    );
}

export async function list(context: Context, options: ListOptions): Promise<undefined> {
  checkFormat(context, options, ['table', 'name']);
  const filter = given({
    mask_secrets: !options.showSecrets,
    status: options.status,
    name_contains: options.nameContains,
    image_version: options.imageVersion,
    deployment_type: options.type,
  });
  const found = await allOf<Deployment>((page) =>
    context.client.GET('/v2/deployments', { params: { query: { ...filter, ...page } } }),
  );
  await showDeployments(context, found);
}

export async function get(context: Context, name: string, options: SecretOptions): Promise<undefined> {
  checkFormat(context, options, ['name']);
  await showDeployment(context, await lookUpDeployment(context.client, name, !options.showSecrets));
}

export async function watchDeployment(
  context: Context,
  name: string,
  timeout: number | undefined,
): Promise<End> {
  return settle(context, await lookUpDeployment(context.client, name, true), alwaysSeconds(timeout), null);
}

/** The token is the result of this command, so it is printed in every format. */
export async function pushToken(context: Context, name: string): Promise<undefined> {
  const { id } = await lookUpDeployment(context.client, name, true);
  const params = { path: { deployment_id: id } };
  const made = await context.client.POST('/v2/deployments/{deployment_id}/push-token', { params });
  const view = () =>
    fields([
      ['Registry', made.registry_url],
      ['Image', `${made.image_uri}:TAG`],
      ['Username', made.username],
      ['Token', made.token],
      ['Expires', made.expires_at],
      ['Log in', `docker login --username ${made.username} --password-stdin ${made.registry_url}`],
    ]);
  await show(context, made, { table: view });
}

/** The URL of a deployment. @throws ApiProblem when it has none */
export async function urlOf(context: Context, word: string): Promise<string> {
  const { name, url } = await lookUpDeployment(context.client, word, true);
  if (url !== null) return url;
  throw new ApiProblem(
    404,
    `the deployment "${name}" has no URL yet`,
    `berth deployments get ${quoted(name)}`,
  );
}
