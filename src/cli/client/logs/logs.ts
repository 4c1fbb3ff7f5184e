import type { Answer, QueryOf } from '../client.ts';
import type { Context } from '../context.ts';
import { given } from '../given.ts';
import { findRevisionId, lookUpDeployment } from '../lookup.ts';
import { followed, showLines } from './log-output.ts';

/** `berth logs`. */

const LOGS = '/v2/deployments/{deployment_id}/logs';
type Query = QueryOf<'get', typeof LOGS>;
type Line = Answer<'get', typeof LOGS>['resources'][number];

export interface LogsOptions {
  readonly component?: NonNullable<Query['component']>;
  readonly revision?: string;
  /** ISO 8601. */
  readonly since?: string;
  readonly limit?: number;
  readonly follow: boolean;
  readonly previous: boolean;
}

const asText = (line: unknown) => {
  const { component, pod, container, text } = line as Line;
  return `${container === 'app' ? component : `${component}/${container}`} ${pod} | ${text}`;
};

/**
 * Runs the command.
 * @throws UsageError, ApiProblem
 */
export async function logsCommand(context: Context, name: string, options: LogsOptions): Promise<'reached'> {
  const { component, revision, since, limit, follow, previous } = options;
  const deployment = await lookUpDeployment(context.client, name, true);
  const revisionId =
    revision === undefined ? undefined : await findRevisionId(context.client, deployment, revision);
  const query = given({
    component,
    revision_id: revisionId,
    since,
    limit,
    previous: previous || undefined,
  });
  const path = { deployment_id: deployment.id };
  if (follow) {
    await showLines(context, resumed(context, path, query), asText);
    return 'reached';
  }
  const { resources, end } = await context.client.GET(LOGS, {
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
    const following = { ...query, ...given({ since }), follow: true };
    const lines = context.client.lines(LOGS, {
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
