import type { Answer } from '../client.ts';
import type { Context } from '../context.ts';
import { followed } from '../logs/log-output.ts';

/** The log of a build. */

const BUILD_LOG = '/v2/deployments/{deployment_id}/revisions/{revision_id}/build-logs';
type Line = Answer<'get', typeof BUILD_LOG>['resources'][number];

/** Path parameters of a revision. */
export interface RevisionPath {
  readonly deployment_id: string;
  readonly revision_id: string;
}

/** A line of the log as text. */
export function buildLogText(line: unknown): string {
  const { step, attempt, text } = line as Line;
  return `${step}${attempt === 1 ? '' : ` (attempt ${attempt})`} | ${text}`;
}

/** The lines that are stored. */
export async function* storedBuildLog({ client }: Context, path: RevisionPath): AsyncGenerator<unknown> {
  for (let offset = 0; ; ) {
    const page = await client.GET(BUILD_LOG, { params: { path, query: { offset } } });
    yield* page.resources;
    if (page.resources.length === 0) return;
    offset = page.offset;
  }
}

/** The lines until the build ends, as they arrive. `stopped` of the context ends them earlier. */
export const followedBuildLog = (context: Context, path: RevisionPath): AsyncGenerator<unknown> =>
  followed(context, (read) =>
    context.client.lines(BUILD_LOG, {
      params: { path, query: { offset: read, follow: true } },
      signal: context.stopped,
    }),
  );
