import { randomUUID } from 'node:crypto';
import type { Deployment } from './api.gen.ts';
import type { AnswerOf } from './client.ts';
import { ClientUsageError, type Context, show } from './context.ts';
import { followed, showLines } from './log-output.ts';
import { findRevisionId, lookUpDeployment, type Revision, revisionsOf } from './lookup.ts';
import { age, cell, fields, table } from './table.ts';
import { type Outcome, watch } from './watch.ts';

/** `berth revisions …`. */

export const REVISIONS_HELP = `usage: berth revisions COMMAND DEPLOYMENT [REVISION] [OPTIONS]

  list DEPLOYMENT
  get DEPLOYMENT [REVISION]
  explain DEPLOYMENT [REVISION]     show the reason of its status, and what to do
  rollback DEPLOYMENT REVISION [--wait]      create a new revision with the content of REVISION, including its secrets
  redeploy DEPLOYMENT [REVISION] [--wait]    create a new revision with the same content
  build-logs DEPLOYMENT [REVISION]  print the log of its build; --follow: until the build ends

DEPLOYMENT is an id or a name. REVISION is an id or a number. Default: the latest revision.`;

const REVISION = '/v2/deployments/{deployment_id}/revisions/{revision_id}';
const BUILD_LOG = `${REVISION}/build-logs` as const;

type Explanation = AnswerOf<'explainRevision'>;
type End = Outcome['end'];

/** The parsed options of these commands. */
export interface RevisionOptions {
  readonly wait: boolean;
  readonly timeoutSeconds: number;
}

type Command = (
  context: Context,
  deployment: Deployment,
  revision: string | undefined,
  options: RevisionOptions,
) => Promise<End | undefined>;

const HEADER = ['NUMBER', 'STATUS', 'RUNS', 'REASON', 'AGE', 'ID'];

function row(revision: Revision, active: string | null, now: Date): string[] {
  const { source_revision_config: config } = revision;
  const status = revision.id === active ? `${revision.status} (active)` : revision.status;
  const runs = cell(config.image_uri ?? config.repo_ref);
  const since = age(revision.created_at, now);
  return [String(revision.number), status, runs, cell(revision.reason), since, revision.id];
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

const list: Command = async (context, deployment) => {
  const found: Revision[] = [];
  for await (const revision of revisionsOf(context.client, deployment.id)) found.push(revision);
  const now = new Date();
  const rows = found.map((revision) => row(revision, deployment.active_revision_id, now));
  await show(context, found, () => table(HEADER, rows));
  return undefined;
};

async function pathTo({ client }: Context, deployment: Deployment, word: string | undefined) {
  const revisionId = await findRevisionId(client, deployment, word);
  return { deployment_id: deployment.id, revision_id: revisionId };
}

const get: Command = async (context, deployment, word) => {
  const path = await pathTo(context, deployment, word);
  const revision = await context.client.GET(REVISION, { params: { path } });
  return shown(context, revision);
};

const explain: Command = async (context, deployment, word) => {
  const path = await pathTo(context, deployment, word);
  const why = await context.client.GET(`${REVISION}/explain`, { params: { path } });
  await show(context, why, () => explanation(why));
  return undefined;
};

type BuildLogPage = AnswerOf<'getBuildLogs'>;
type BuildLogLine = BuildLogPage['resources'][number];

async function* buildLogPages(context: Context, path: Awaited<ReturnType<typeof pathTo>>) {
  for (let offset = 0; ; ) {
    const page = await context.client.GET(BUILD_LOG, { params: { path, query: { offset } } });
    yield* page.resources;
    if (page.resources.length === 0) return;
    offset = page.offset;
  }
}

const buildLogs: Command = async (context, deployment, word) => {
  const path = await pathTo(context, deployment, word);
  const lines = context.follow
    ? followed(context, (read) =>
        context.client.lines(BUILD_LOG, { params: { path, query: { offset: read, follow: true } } }),
      )
    : buildLogPages(context, path);
  await showLines(context, lines, (line) => {
    const { step, attempt, text } = line as BuildLogLine;
    return `${step}${attempt === 1 ? '' : ` (attempt ${attempt})`} | ${text}`;
  });
  return undefined;
};

async function shown(context: Context, revision: Revision): Promise<undefined> {
  await show(context, revision, () => details(revision));
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
    const { end, message } = await watch(context, deployment.id, timeoutSeconds, made.id);
    context.note(message);
    const path = { deployment_id: deployment.id, revision_id: made.id };
    if (end !== 'unknown')
      latest = await context.client.GET(REVISION, { params: { path } }).catch(() => made);
    return end;
  } finally {
    await shown(context, latest);
  }
}

function again(action: 'rollback' | 'redeploy'): Command {
  return async (context, deployment, word, { wait, timeoutSeconds }) => {
    const path = await pathTo(context, deployment, word);
    const params = { path, header: { 'Idempotency-Key': randomUUID() } };
    const made = await context.client.POST(`${REVISION}/${action}`, { params });
    return wait ? await waited(context, deployment, made, timeoutSeconds) : await shown(context, made);
  };
}

const COMMANDS: Readonly<Record<string, { run: Command; needsRevision?: true; most: number }>> = {
  list: { run: list, most: 1 },
  get: { run: get, most: 2 },
  explain: { run: explain, most: 2 },
  rollback: { run: again('rollback'), needsRevision: true, most: 2 },
  redeploy: { run: again('redeploy'), most: 2 },
  'build-logs': { run: buildLogs, most: 2 },
};

/**
 * Runs one command.
 * @returns the result
 * @throws ClientUsageError, ApiProblem
 */
export async function revisionsCommand(
  context: Context,
  options: RevisionOptions,
  words: readonly string[],
): Promise<End> {
  const [verb = '', name, revision, ...rest] = words;
  const command = Object.hasOwn(COMMANDS, verb) ? COMMANDS[verb] : undefined;
  if (command === undefined) throw new ClientUsageError(`berth revisions: "${verb}" is not a command`);
  if (name === undefined) throw new ClientUsageError(`berth revisions ${verb}: needs a DEPLOYMENT`);
  if (command.needsRevision && revision === undefined)
    throw new ClientUsageError(`berth revisions ${verb}: needs a REVISION, by number or id`);
  if (rest.length > 0 || words.length - 1 > command.most)
    throw new ClientUsageError(`berth revisions ${verb}: "${words.at(-1)}" is not expected here`);
  const deployment = await lookUpDeployment(context.client, name, true);
  return (await command.run(context, deployment, revision, options)) ?? 'reached';
}
