import {
  type GitAccess,
  type GitHost,
  GitHostError,
  type GitRepository,
} from '../../domain/builds/git-host.ts';
import { branchHeads } from './branch-heads.ts';
import type { HttpsOptions } from './https-call.ts';
import { getJson } from './https-json.ts';
import { PROVIDERS, type ProviderPage } from './providers.ts';

/** The client of git hosts. */

export interface GitHostOptions {
  /** Hosts on private and loopback addresses may be called. */
  readonly allowPrivate: boolean;
  /** Of each request, in milliseconds; default 10,000. */
  readonly deadlineMs?: number;
  /** Largest answer in bytes; default 8 MiB (100 repositories of GitHub are about 0.7 MiB). */
  readonly maxBytes?: number;
  /** PEM of the authority to trust in place of Node's own (which NODE_EXTRA_CA_CERTS adds to). */
  readonly ca?: string;
}

const DEADLINE_MS = 10_000;
const MAX_BYTES = 8 * 1024 * 1024;

async function readPage(
  { provider, hostUrl, token }: GitAccess,
  page: ProviderPage,
  options: HttpsOptions,
): Promise<GitRepository[]> {
  const { url, answer } = PROVIDERS[provider];
  const parsed = answer.safeParse(await getJson(url(hostUrl, page), token, options));
  if (parsed.success) return parsed.data;
  throw new GitHostError('unreadable', `its answer is not that of the ${provider} API`);
}

/** Makes the client. It keeps nothing between calls. */
export function createGitHost(options: GitHostOptions): GitHost {
  const { allowPrivate, deadlineMs = DEADLINE_MS, maxBytes = MAX_BYTES, ca } = options;
  const call = { allowPrivate, deadlineMs, maxBytes, ca };
  return {
    allowsPrivate: allowPrivate,
    async listRepositories(access, { limit, offset }) {
      // The hosts count in pages: what is asked for lies in one, or across two.
      const [number, skip] = [Math.floor(offset / limit) + 1, offset % limit];
      const first = await readPage(access, { number, size: limit }, call);
      const more =
        skip === 0 || first.length < limit
          ? []
          : await readPage(access, { number: number + 1, size: limit }, call);
      return [...first, ...more].slice(skip, skip + limit);
    },
    branchHeads: (access, branches) => branchHeads(access, branches, call),
  };
}
