import { randomUUID } from 'node:crypto';
import type { Deployment } from './api.gen.ts';
import { readBody } from './body-file.ts';
import { ApiProblem } from './call-problem.ts';
import type { InputOf, QueryOf } from './client.ts';
import { ClientUsageError, type Context, show } from './context.ts';
import { lookUpDeployment } from './lookup.ts';
import { age, cell, fields, table } from './table.ts';
import { type Outcome, watch } from './watch.ts';

/** `berth deployments …`. */

export const DEPLOYMENTS_HELP = `usage: berth deployments COMMAND [OPTIONS]

  list [--status STATUS] [--name-contains TEXT]   all deployments of the tenant
  get DEPLOYMENT
  create -f FILE [--wait]      FILE is JSON or YAML, - is standard input
  patch DEPLOYMENT -f FILE [--wait]
  delete DEPLOYMENT [--delete-tracing-project] [--wait]
  watch DEPLOYMENT             wait until it is READY or has failed
  push-token DEPLOYMENT        create short-lived credentials to push its image (internal_image). In scripts, use -o json

DEPLOYMENT is an id or a name.`;

/** The parsed options of these commands. */
export interface DeploymentOptions {
  readonly file: string | undefined;
  readonly wait: boolean;
  readonly timeoutSeconds: number;
  readonly status: string | undefined;
  readonly nameContains: string | undefined;
  readonly deleteTracingProject: boolean;
}

type Query = QueryOf<'listDeployments'>;
type End = Outcome['end'];
type Command = (context: Context, options: DeploymentOptions, word: string) => Promise<End>;

const PAGE = 100;

/**
 * Whether the desired state is completely in effect, or why not. The status alone does not show this, because it can be
 * READY while a newer revision fails.
 */
function readiness({ conditions }: Deployment): string {
  const ready = conditions.find(({ type }) => type === 'Ready');
  return ready?.status === 'True' ? 'yes' : cell(ready?.reason);
}

function row(deployment: Deployment, now: Date): string[] {
  const {
    name,
    status,
    source,
    remote_reconciled: seen,
    source_revision_config: config,
    url,
    id,
  } = deployment;
  const runs = cell(config.image_uri ?? config.repo_ref);
  const state = seen ? status : `${status} (changing)`;
  return [
    cell(name),
    state,
    readiness(deployment),
    source,
    runs,
    cell(url),
    age(deployment.created_at, now),
    id,
  ];
}

const HEADER = ['NAME', 'STATUS', 'READY', 'SOURCE', 'RUNS', 'URL', 'AGE', 'ID'];

function details(deployment: Deployment): string {
  const { source_revision_config: config, conditions, secrets } = deployment;
  const lines = fields([
    ['Name', cell(deployment.name)],
    ['Id', deployment.id],
    ['Status', deployment.status],
    ['Source', deployment.source],
    ['Image', cell(config.image_uri)],
    ['Repository', cell(deployment.source_config.repo_url)],
    ['Ref', cell(config.repo_ref)],
    ['Url', cell(deployment.url)],
    ['Generation', `${deployment.generation} (observed ${deployment.observed_generation})`],
    ['Latest revision', cell(deployment.latest_revision_id)],
    ['Active revision', cell(deployment.active_revision_id)],
    ['Secrets', cell(secrets.map(({ name, value }) => `${name}=${value}`).join(', '))],
    ['Created', deployment.created_at],
    ['Updated', deployment.updated_at],
  ]);
  if (conditions.length === 0) return lines;
  const rows = conditions.map(({ type, status, reason, message }) => [type, status, reason, cell(message)]);
  return `${lines}\n\n${table(['CONDITION', 'STATUS', 'REASON', 'MESSAGE'], rows)}`;
}

async function all(context: Context, filter: Query): Promise<Deployment[]> {
  const found: Deployment[] = [];
  for (let offset = 0; ; ) {
    const params = { query: { ...filter, limit: PAGE, offset } };
    const page = await context.client.GET('/v2/deployments', { params });
    found.push(...page.resources);
    if (page.resources.length < PAGE) return found;
    offset = page.offset;
  }
}

/** Secrets are masked in tables, which people read, and complete in other formats. */
const isMasked = (context: Context) => context.format === 'table';

const list: Command = async (context, options) => {
  // The API validates the status.
  const status = options.status as Query['status'];
  const filter = {
    mask_secrets: isMasked(context),
    ...(status === undefined ? {} : { status }),
    ...(options.nameContains === undefined ? {} : { name_contains: options.nameContains }),
  };
  const found = await all(context, filter);
  const now = new Date();
  await show(context, found, () =>
    table(
      HEADER,
      found.map((deployment) => row(deployment, now)),
    ),
  );
  return 'reached';
};

const get: Command = async (context, _options, word) => {
  const deployment = await lookUpDeployment(context.client, word, isMasked(context));
  await show(context, deployment, () => details(deployment));
  return 'reached';
};

/** Follows a deployment until it has settled. The result of the command is already printed. */
async function follow(context: Context, id: string, options: DeploymentOptions): Promise<End> {
  const { end, message } = await watch(context, id, options.timeoutSeconds);
  context.note(message);
  return end;
}

/** The current state of a created deployment, or the response to its creation if it cannot be read. */
async function latest(context: Context, made: Deployment): Promise<Deployment> {
  const params = { path: { deployment_id: made.id }, query: { mask_secrets: isMasked(context) } };
  try {
    return await context.client.GET('/v2/deployments/{deployment_id}', { params });
  } catch (error) {
    if (error instanceof ApiProblem) return made;
    throw error;
  }
}

/** Waits, then prints the deployment, even if the wait failed, so that its id is known. */
async function wrote(context: Context, made: Deployment, options: DeploymentOptions): Promise<End> {
  let shown = made;
  try {
    if (!options.wait) return 'reached';
    const end = await follow(context, made.id, options);
    if (end !== 'unknown') shown = await latest(context, made);
    return end;
  } finally {
    await show(context, shown, () => details(shown));
  }
}

const create: Command = async (context, options) => {
  const body = (await readBody(options.file)) as InputOf<'post', '/v2/deployments'>;
  const made = await context.client.POST('/v2/deployments', {
    params: { query: { mask_secrets: isMasked(context) }, header: { 'Idempotency-Key': randomUUID() } },
    body,
  });
  return wrote(context, made as Deployment, options);
};

const patch: Command = async (context, options, word) => {
  const body = (await readBody(options.file)) as InputOf<'patch', '/v2/deployments/{deployment_id}'>;
  const { id } = await lookUpDeployment(context.client, word, true);
  const changed = await context.client.PATCH('/v2/deployments/{deployment_id}', {
    params: { path: { deployment_id: id }, query: { mask_secrets: isMasked(context) } },
    body,
  });
  for (const effect of changed.effects ?? []) context.note(cell(effect));
  return wrote(context, changed as Deployment, options);
};

const remove: Command = async (context, options, word) => {
  const { id, name } = await lookUpDeployment(context.client, word, true);
  const query = { delete_tracing_project: options.deleteTracingProject };
  await context.client.DELETE('/v2/deployments/{deployment_id}', {
    params: { path: { deployment_id: id }, query },
  });
  if (options.wait) return follow(context, id, options);
  await show(context, { id, status: 'AWAITING_DELETE' }, () => `${cell(name)} is being deleted`);
  return 'reached';
};

const follows: Command = async (context, options, word) => {
  const { id } = await lookUpDeployment(context.client, word, true);
  return follow(context, id, options);
};

/** The token is the result of this command, so it is printed in every format. */
const pushToken: Command = async (context, _options, word) => {
  const { id } = await lookUpDeployment(context.client, word, true);
  const params = { path: { deployment_id: id } };
  const made = await context.client.POST('/v2/deployments/{deployment_id}/push-token', { params });
  await show(context, made, () =>
    fields([
      ['Registry', made.registry_url],
      ['Image', `${made.image_uri}:TAG`],
      ['Username', made.username],
      ['Token', made.token],
      ['Expires', made.expires_at],
      ['Log in', `docker login --username ${made.username} --password-stdin ${made.registry_url}`],
    ]),
  );
  return 'reached';
};

const COMMANDS: Readonly<Record<string, { run: Command; words: 0 | 1 }>> = {
  list: { run: list, words: 0 },
  get: { run: get, words: 1 },
  create: { run: create, words: 0 },
  patch: { run: patch, words: 1 },
  delete: { run: remove, words: 1 },
  watch: { run: follows, words: 1 },
  'push-token': { run: pushToken, words: 1 },
};

/**
 * Runs one command.
 * @returns the result
 * @throws ClientUsageError, ApiProblem
 */
export function deploymentsCommand(
  context: Context,
  options: DeploymentOptions,
  words: readonly string[],
): Promise<End> {
  const [verb = '', ...rest] = words;
  const command = Object.hasOwn(COMMANDS, verb) ? COMMANDS[verb] : undefined;
  if (command === undefined) throw new ClientUsageError(`berth deployments: "${verb}" is not a command`);
  if (rest.length !== command.words)
    throw new ClientUsageError(
      `berth deployments ${verb}: ${command.words === 0 ? 'takes no argument' : 'needs one DEPLOYMENT'}`,
    );
  return command.run(context, options, rest[0] ?? '');
}
