import type { AnswerOf, QueryOf } from './client.ts';
import { ClientUsageError, type Context } from './context.ts';
import { followed, showLines } from './log-output.ts';
import { findRevisionId, lookUpDeployment } from './lookup.ts';

/** `berth logs`. */

export const LOGS_HELP = `usage: berth logs DEPLOYMENT [OPTIONS]

Prints the output of the pods of a deployment, and of its database and cache. Berth reads logs from the cluster
and does not store them.

  --component NAME      api, queue, orchestrator, executor, database or cache; default: all
  --revision REVISION   only pods of this revision: an id or a number
  --since TIME          ISO 8601, or a duration: 30s, 10m, 3h, 2d
  --limit LINES         newest lines of each container, default: 500
  --follow              continue with new lines
  --previous            output of the previous runs of restarted containers, to find out why one crashed

DEPLOYMENT is an id or a name.`;

export interface LogsOptions {
  readonly component: string | undefined;
  readonly revision: string | undefined;
  readonly since: string | undefined;
  readonly limit: string | undefined;
  readonly previous: boolean;
}

type Query = QueryOf<'getLogs'>;
type Line = AnswerOf<'getLogs'>['resources'][number];

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** @throws ClientUsageError */
export function sinceTime(word: string, now: Date): string {
  const [, count, unit = ''] = /^(\d{1,9})([smhd])$/.exec(word) ?? [];
  // JavaScript also accepts other texts as times. Such texts are rejected, because they are probably mistakes.
  const date = new Date(/^\d{4}-\d\d-\d\d/.test(word) ? word : Number.NaN);
  const time =
    count === undefined ? date : new Date(now.getTime() - Number(count) * (SECONDS[unit] ?? 1) * 1000);
  if (Number.isNaN(time.getTime()))
    throw new ClientUsageError(`--since must be a time or a duration such as 10m, not "${word}"`);
  return time.toISOString();
}

const asText = (line: unknown) => {
  const { component, pod, container, text } = line as Line;
  return `${container === 'app' ? component : `${component}/${container}`} ${pod} | ${text}`;
};

/**
 * Runs the command.
 * @throws ClientUsageError, ApiProblem
 */
export async function logsCommand(
  context: Context,
  options: LogsOptions,
  words: readonly string[],
): Promise<'reached'> {
  const [name, ...rest] = words;
  if (name === undefined || rest.length > 0)
    throw new ClientUsageError('berth logs: needs exactly one DEPLOYMENT');
  const { component, revision, since, limit, previous } = options;
  if (previous && context.follow)
    throw new ClientUsageError(
      '--previous and --follow cannot be combined: a previous run prints no new lines',
    );
  if (limit !== undefined && !/^\d+$/.test(limit))
    throw new ClientUsageError('--limit must be a number of lines');
  const from = since === undefined ? undefined : sinceTime(since, new Date());
  const deployment = await lookUpDeployment(context.client, name, true);
  const query: Query = {
    // The API validates the component.
    ...(component === undefined ? {} : { component: component as NonNullable<Query['component']> }),
    ...(revision === undefined
      ? {}
      : { revision_id: await findRevisionId(context.client, deployment, revision) }),
    ...(from === undefined ? {} : { since: from }),
    ...(limit === undefined ? {} : { limit: Number(limit) }),
    ...(previous ? { previous } : {}),
  };
  const path = { deployment_id: deployment.id };
  if (context.follow) {
    await showLines(context, resumed(context, path, query), asText);
    return 'reached';
  }
  const { resources, end } = await context.client.GET('/v2/deployments/{deployment_id}/logs', {
    params: { path, query },
  });
  await showLines(context, resources, asText);
  context.note(end);
  return 'reached';
}

/** Follows a log. A response that ends early is requested again from its last line. */
function resumed(context: Context, path: { deployment_id: string }, query: Query): AsyncIterable<unknown> {
  // Lines of several containers are interleaved. The next request starts at the time of the container that is furthest
  // behind.
  const last = new Map<string, string>();
  return followed(context, async function* (read) {
    const times = [...last.values()].sort();
    const since = read === 0 ? query.since : times[0];
    const from = new Map(last);
    const following = { ...query, ...(since === undefined ? {} : { since }), follow: true };
    const lines = context.client.lines('/v2/deployments/{deployment_id}/logs', {
      params: { path, query: following },
    });
    for await (const line of lines) {
      const { at, pod, container } = line as Partial<Line>;
      const key = `${pod}/${container}`;
      if (at !== undefined && at <= (from.get(key) ?? '')) continue;
      if (at !== undefined) last.set(key, at);
      yield line;
    }
  });
}
