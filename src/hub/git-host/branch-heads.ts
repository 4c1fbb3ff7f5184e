import {
  type BranchHead,
  GitHostError,
  gitUsername,
  type RepositoryAccess,
} from '../../domain/builds/git-host.ts';
import type { HostResponse } from '../../outbound/call-host.ts';
import { responseFailure } from './failures.ts';
import { callHttps, type HttpsOptions } from './https-json.ts';
import { headOf, lsRefsRequest, type Refs, readAdvertisement, readRefs } from './refs.ts';

/** Asks a repository for the newest commits of branches, by git's smart HTTP protocol. */

const ADVERTISEMENT = '/info/refs';
const SERVICE = '?service=git-upload-pack';
/** Such as from `/shop/web` to `/shop/web.git`. */
const MAX_REDIRECTS = 3;

function headersOf({ provider, token }: RepositoryAccess): Record<string, string> {
  const version = { 'git-protocol': 'version=2' };
  if (token === null) return version;
  const credentials = Buffer.from(`${gitUsername(provider)}:${token}`).toString('base64');
  return { ...version, authorization: `Basic ${credentials}` };
}

/** @throws GitHostError */
function check(answer: HostResponse): void {
  if (answer.status === 404)
    throw new GitHostError('missing', 'it has no such repository, or the token may not read it');
  const failure = responseFailure(answer);
  if (failure !== null) throw failure;
}

/** Where a redirect leads, within the same host; null: it is none of that kind. */
function redirected(from: URL, { status, headers }: HostResponse): URL | null {
  const { location } = headers;
  if (![301, 302, 307, 308].includes(status) || location === undefined) return null;
  if (!URL.canParse(location, from.href)) return null;
  const to = new URL(location, from);
  const isSame = to.origin === from.origin && to.username === '' && to.password === '';
  return isSame && to.pathname.endsWith(ADVERTISEMENT) && to.search === SERVICE ? to : null;
}

const unreadable = () => new GitHostError('unreadable', 'its answer is not that of a git server');

/** Asks in one or two calls, after redirects within the host. @throws GitHostError */
async function readAll(
  access: RepositoryAccess,
  branches: readonly (string | null)[],
  options: HttpsOptions,
  signal: AbortSignal,
): Promise<Refs> {
  const headers = headersOf(access);
  let url = new URL(`${access.repoUrl.replace(/\/+$/, '')}${ADVERTISEMENT}${SERVICE}`);
  let answer = await callHttps(url, { method: 'GET', headers }, options, signal);
  for (let count = 0; count < MAX_REDIRECTS; count += 1) {
    const next = redirected(url, answer);
    if (next === null) break;
    url = next;
    answer = await callHttps(url, { method: 'GET', headers }, options, signal);
  }
  check(answer);
  const advertised = readAdvertisement(answer.body);
  if (advertised === null) throw unreadable();
  if (advertised.version === 1) return advertised.refs;
  const service = new URL(url);
  service.pathname = `${url.pathname.slice(0, -ADVERTISEMENT.length)}/git-upload-pack`;
  service.search = '';
  const asked = await callHttps(
    service,
    {
      method: 'POST',
      headers: {
        ...headers,
        'content-type': 'application/x-git-upload-pack-request',
        accept: 'application/x-git-upload-pack-result',
      },
      body: lsRefsRequest(branches, advertised.objectFormat),
    },
    options,
    signal,
  );
  check(asked);
  const refs = readRefs(asked.body);
  if (refs === null) throw unreadable();
  return refs;
}

/**
 * The newest commits of branches, in their order; null: there is no such branch.
 * @param branches null: the default branch
 * @throws GitHostError
 */
export async function branchHeads(
  access: RepositoryAccess,
  branches: readonly (string | null)[],
  options: HttpsOptions,
): Promise<(BranchHead | null)[]> {
  const refs = await readAll(access, branches, options, AbortSignal.timeout(options.deadlineMs));
  return branches.map((branch) => headOf(refs, branch));
}
