import type { Deployment } from '../api.gen.ts';
import { type Context, show } from '../context.ts';
import { referenceWord } from '../references/words.ts';
import { age, cell, fields, table } from '../table.ts';
import { type Line, podSettingLines, runLines } from './setting-lines.ts';

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

/** The references to Secrets of the cluster, if there are any. */
const referenceLines = ({ secret_references: references = [] }: Deployment): Line[] =>
  references.length === 0 ? [] : [['Secret references', cell(references.map(referenceWord).join(', '))]];

/** The data services that are switched off. */
function serviceLines({ database, cache }: Deployment['source_config']): Line[] {
  const removes = database?.remove_volume === true ? ', its volume is removed' : '';
  return [
    ...(database?.enabled === false ? [['Database', `off${removes}`] as const] : []),
    ...(cache?.enabled === false ? [['Cache', 'off'] as const] : []),
  ];
}

/** The additional hosts, with what each lacks. */
function domainsTable({ domains_status: domains = [] }: Deployment): string {
  if (domains.length === 0) return '';
  const rows = domains.map(({ host, dns, proof, certificate, route, message }) => [
    host,
    dns,
    proof,
    certificate,
    route,
    cell(message),
  ]);
  return `\n\n${table(['DOMAIN', 'DNS', 'PROOF', 'CERTIFICATE', 'ROUTE', 'MESSAGE'], rows)}`;
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
    ...podSettingLines(deployment.source_config),
    ...serviceLines(deployment.source_config),
    ['Url', cell(deployment.url)],
    ['Generation', `${deployment.generation} (observed ${deployment.observed_generation})`],
    ['Latest revision', cell(deployment.latest_revision_id)],
    ['Active revision', cell(deployment.active_revision_id)],
    ...referenceLines(deployment),
    ['Secrets', cell(secrets.map(({ name, value }) => `${name}=${value}`).join(', '))],
    ['Created', deployment.created_at],
    ['Updated', deployment.updated_at],
  ]);
  const domains = domainsTable(deployment);
  if (conditions.length === 0) return `${lines}${domains}`;
  const rows = conditions.map(({ type, status, reason, message }) => [type, status, reason, cell(message)]);
  return `${lines}${domains}\n\n${table(['CONDITION', 'STATUS', 'REASON', 'MESSAGE'], rows)}`;
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
