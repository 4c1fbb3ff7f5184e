import { randomUUID } from 'node:crypto';
import type { Deployment } from '../api.gen.ts';
import type { Answer } from '../client.ts';
import { type Context, show } from '../context.ts';
import type { End } from '../exit-codes.ts';
import { showLines } from '../logs/log-output.ts';
import { findRevisionId, lookUpDeployment, type Revision, revisionsOf } from '../lookup.ts';
import { age, cell, fields, table } from '../table.ts';
import { settle, type WaitOptions, waitSeconds } from '../wait.ts';
import { buildLogText, followedBuildLog, storedBuildLog } from './build-log.ts';
import { createdRevision, dryRunOf } from './created-revision.ts';
import { checkDryRun, type DryRunOptions, showDryRun } from './dry-run.ts';

/** `berth revisions …`. */

const REVISION = '/v2/deployments/{deployment_id}/revisions/{revision_id}';

type Explanation = Answer<'get', `${typeof REVISION}/explain`>;

const HEADER = ['NUMBER', 'STATUS', 'RUNS', 'REASON', 'AGE', 'ID'];

/** Digits of a digest in a table. */
const SHORT = 'sha256:'.length + 12;

/** The image, the ref, or the upload that is not built yet. */
function runsOf({ source_revision_config: config, upload }: Revision): string {
  const source = config.image_uri ?? config.repo_ref;
  return upload === undefined ? cell(source) : cell(source ?? `upload ${upload.digest.slice(0, SHORT)}`);
}

function row(revision: Revision, active: string | null, now: Date): string[] {
  const status = revision.id === active ? `${revision.status} (active)` : revision.status;
  const runs = runsOf(revision);
  const since = age(revision.created_at, now);
  return [String(revision.number), status, runs, cell(revision.reason), since, revision.id];
}

/** The effective commands, with their source. */
function commandLines({ effective_commands: effective = {} }: Revision): [string, string][] {
  const words = Object.entries(effective).map(
    ([component, { command = [], args = [], source }]) =>
      `${component}: ${[...command, ...args].join(' ')} (${source})`,
  );
  return words.length === 0 ? [] : [['Commands', cell(words.join('; '))]];
}

/** The uploaded folder, with the settings of its build. */
function uploadLines({ upload }: Revision): [string, string][] {
  if (upload === undefined) return [];
  const { digest, ...settings } = upload;
  return [
    ['Upload', digest],
    ...Object.entries(settings).map(([name, value]): [string, string] => [name, cell(value)]),
  ];
}

function details(revision: Revision): string {
  const { source_revision_config: config } = revision;
  return fields([
    ['Number', String(revision.number)],
    ['Id', revision.id],
    ['Status', revision.status],
    ['Reason', cell(revision.reason)],
    ['Message', cell(revision.message)],
    ['Image', cell(config.image_uri)],
    ['Ref', cell(config.repo_ref)],
    ['Commit', cell(config.repo_commit_sha)],
    ['Resolved image', cell(revision.resolved_image)],
    ...uploadLines(revision),
    ...commandLines(revision),
    ['Created', revision.created_at],
    ['Deployed', cell(revision.deployed_at)],
  ]);
}

function explanation({ summary, causes, remedy, effects }: Explanation): string {
  const rows = causes.map(({ reason, message, object }) => {
    const where = [object?.component, object?.kind, object?.object, object?.container];
    return [reason, cell(where.filter((part) => part !== undefined).join(' ')), cell(message)];
  });
  const advice = remedy === null ? '' : `\n\nRemedy: ${cell(remedy.text)}`;
  const chain = rows.length === 0 ? '' : `\n\n${table(['CAUSE', 'WHERE', 'MESSAGE'], rows)}`;
  const restarts = effects.map((effect) => `\n\nLast change: ${cell(effect)}`).join('');
  return `${cell(summary)}${chain}${advice}${restarts}`;
}

export async function list(context: Context, name: string): Promise<undefined> {
  const deployment = await lookUpDeployment(context.client, name, true);
  const found: Revision[] = [];
  for await (const revision of revisionsOf(context.client, deployment.id)) found.push(revision);
  const now = new Date();
  const rows = () => found.map((revision) => row(revision, deployment.active_revision_id, now));
  await show(context, found, { table: () => table(HEADER, rows()), names: () => found.map(nameOf) });
}

/** Path parameters of a revision, given by id or number. Default: the latest revision. */
async function pathTo({ client }: Context, deployment: Deployment, word: string | undefined) {
  const revisionId = await findRevisionId(client, deployment, word);
  return { deployment_id: deployment.id, revision_id: revisionId };
}

export async function get(context: Context, name: string, word: string | undefined): Promise<undefined> {
  const deployment = await lookUpDeployment(context.client, name, true);
  const path = await pathTo(context, deployment, word);
  await shown(context, await context.client.GET(REVISION, { params: { path } }));
}

export async function explain(context: Context, name: string, word: string | undefined): Promise<undefined> {
  const deployment = await lookUpDeployment(context.client, name, true);
  const path = await pathTo(context, deployment, word);
  const why = await context.client.GET(`${REVISION}/explain`, { params: { path } });
  await show(context, why, { table: () => explanation(why), names: () => [path.revision_id] });
}

export async function buildLogs(
  context: Context,
  name: string,
  word: string | undefined,
  { follow }: { readonly follow: boolean },
): Promise<undefined> {
  const deployment = await lookUpDeployment(context.client, name, true);
  const path = await pathTo(context, deployment, word);
  const lines = follow ? followedBuildLog(context, path) : storedBuildLog(context, path);
  await showLines(context, lines, buildLogText);
}

const nameOf = ({ number }: Revision) => String(number);

async function shown(context: Context, revision: Revision): Promise<undefined> {
  await show(context, revision, { table: () => details(revision), names: () => [nameOf(revision)] });
}

/**
 * Follows the rollout of a new revision. Prints the revision even if the rollout fails, so that its number is known.
 */
async function waited(
  context: Context,
  deployment: Deployment,
  made: Revision,
  timeoutSeconds: number,
): Promise<End> {
  let latest = made;
  try {
    const end = await settle(context, deployment, timeoutSeconds, made.id);
    const path = { deployment_id: deployment.id, revision_id: made.id };
    if (end !== 'unknown')
      latest = await context.client.GET(REVISION, { params: { path } }).catch(() => made);
    return end;
  } finally {
    await shown(context, latest);
  }
}

/** Creates a new revision from an older one, or shows what it would change. */
export async function again(
  context: Context,
  action: 'rollback' | 'redeploy',
  [name, word]: readonly [string, string | undefined],
  options: WaitOptions & DryRunOptions,
): Promise<End | undefined> {
  checkDryRun(options);
  const seconds = waitSeconds(options);
  const deployment = await lookUpDeployment(context.client, name, true);
  const path = await pathTo(context, deployment, word);
  const header = { 'Idempotency-Key': randomUUID() };
  const params = options.dryRun ? { path, query: { dry_run: true } } : { path, header };
  const answer = await context.client.POST(`${REVISION}/${action}`, { params });
  if (options.dryRun) return await showDryRun(context, dryRunOf(answer));
  const made = createdRevision(answer);
  return seconds === null ? await shown(context, made) : await waited(context, deployment, made, seconds);
}
