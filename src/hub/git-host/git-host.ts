import {
  type GitAccess,
  type GitHost,
  GitHostError,
  type GitRepository,
} from '../../domain/builds/git-host.ts';
import { branchHeads } from './branch-heads.ts';
import { getJson, type HttpsOptions } from './https-json.ts';
import { PROVIDERS, type ProviderPage } from './providers.ts';

/** The client of git hosts. */

export interface GitHostOptions {
  /** Whether hosts on private and loopback addresses may be called. */
  readonly allowPrivate: boolean;
  /** Other networks that must not be called unless private addresses may be; default: none. */
  readonly closedNetworks?: readonly string[] | undefined;
  /** Timeout of each request, in milliseconds; default 10,000. */
  readonly deadlineMs?: number;
  /** Maximum size of a response in bytes; default 8 MiB (100 repositories of GitHub take about 0.7 MiB). */
  readonly maxBytes?: number;
  /** PATH of git; default: that of most systems. */
  readonly path?: string;
  /** PEM of the certificate authority that replaces Node's own (which NODE_EXTRA_CA_CERTS extends). */
  readonly ca?: string;
}

const DEADLINE_MS = 10_000;
const MAX_BYTES = 8 * 1024 * 1024;
const PATH = '/usr/local/bin:/usr/bin:/bin';

async function readPage(
  { provider, hostUrl, token }: GitAccess,
  page: ProviderPage,
  options: HttpsOptions,
): Promise<GitRepository[]> {
  const { url, answer } = PROVIDERS[provider];
  const parsed = answer.safeParse(await getJson(url(hostUrl, page), token, options));
  if (parsed.success) return parsed.data;
  throw new GitHostError('unreadable', `its response does not match the ${provider} API`);
}

/** Creates the client. The client has no state between calls. */
export function createGitHost(options: GitHostOptions): GitHost {
  const {
    allowPrivate,
    closedNetworks = [],
    deadlineMs = DEADLINE_MS,
    maxBytes = MAX_BYTES,
    path = PATH,
    ca,
  } = options;
  const call = { addresses: { allowPrivate, closedNetworks }, deadlineMs, maxBytes, ca };
  return {
    allowsPrivate: allowPrivate,
    async listRepositories(access, { limit, offset }) {
      // Hosts return whole pages. The requested range is within one page or spans two pages.
      const [number, skip] = [Math.floor(offset / limit) + 1, offset % limit];
      const first = await readPage(access, { number, size: limit }, call);
      const more =
        skip === 0 || first.length < limit
          ? []
          : await readPage(access, { number: number + 1, size: limit }, call);
      return [...first, ...more].slice(skip, skip + limit);
    },
    branchHeads: (access, branches, tenantId) => branchHeads(access, branches, tenantId, { ...call, path }),
  };
}
