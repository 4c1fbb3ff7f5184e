import type { Deployment } from '../api.gen.ts';
import { type Context, show } from '../context.ts';
import { age, cell, fields, table } from '../table.ts';

/** Deployments as text. */

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

type Line = readonly [title: string, text: string];

/** The run settings that are set. */
function runLines({ port, commands = {}, env = [] }: Deployment['source_revision_config']): Line[] {
  const words = Object.entries(commands).map(
    ([component, { command = [], args = [] }]) => `${component}: ${[...command, ...args].join(' ')}`,
  );
  const variables = env.map(({ name, value }) => `${name}=${value}`);
  return [
    ...(port === undefined ? [] : [['Port', String(port)] as const]),
    ...(words.length === 0 ? [] : [['Commands', cell(words.join('; '))] as const]),
    ...(variables.length === 0 ? [] : [['Env', cell(variables.join(', '))] as const]),
  ];
}

/** The data services that are switched off. */
function serviceLines({ database, cache }: Deployment['source_config']): Line[] {
  const removes = database?.remove_volume === true ? ', its volume is removed' : '';
  return [
    ...(database?.enabled === false ? [['Database', `off${removes}`] as const] : []),
    ...(cache?.enabled === false ? [['Cache', 'off'] as const] : []),
  ];
}

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
    ...runLines(config),
    ...serviceLines(deployment.source_config),
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

/**
 * What `-o name` prints: the name, or the id of a deployment that is being deleted. Another deployment can have the same
 * name, and commands would use the other one.
 */
const referenceTo = ({ id, name, status }: Deployment) => (status === 'AWAITING_DELETE' ? id : name);

/** Prints one deployment. */
export function showDeployment(context: Context, deployment: Deployment): Promise<void> {
  return show(context, deployment, {
    table: () => details(deployment),
    names: () => [referenceTo(deployment)],
  });
}

/** Prints a list of deployments. */
export function showDeployments(context: Context, found: readonly Deployment[]): Promise<void> {
  const now = new Date();
  const rows = () => found.map((deployment) => row(deployment, now));
  return show(context, found, {
    table: () => table(HEADER, rows()),
    names: () => found.map(referenceTo),
  });
}
