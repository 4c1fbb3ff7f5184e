import { authorities } from '../../outbound/authorities.ts';
import {
  findRepository,
  type RepositoryLookup,
  type RepositoryPlace,
} from '../../outbound/find-repository.ts';
import { HostError } from '../../outbound/host-error.ts';
import { StepFailure } from './step-failure.ts';

/** Finds the repository of a build, and explains failures to its owner. */

export interface HostSettings {
  /** Private and loopback addresses may be called. */
  readonly allowPrivate: boolean;
  /** PEM file of additional certificate authorities. */
  readonly caFile: string | null;
  /** Sent only when the host requests credentials; null: never sent. */
  readonly credentials: { readonly username: string; readonly token: string } | null;
  /** Timeout of the whole search, in milliseconds. */
  readonly timeoutMs: number;
}

/** The failure of a call or lookup. Anything but a HostError is the reason of a timeout. */
function callFailure(error: unknown, { host, hostname }: URL): StepFailure {
  const { failure, code } = error instanceof HostError ? error : { failure: 'timeout', code: '' };
  if (failure === 'closed_address') {
    const bare = hostname.replace(/^\[|\]$/g, '');
    const message = `${bare} has a private address, and this installation does not call private addresses`;
    return new StepFailure('GitHostRefused', message);
  }
  if (failure === 'unresolved') {
    return new StepFailure('GitHostUnavailable', `the name ${hostname} cannot be resolved (${code})`, {
      passing: code !== 'ENOTFOUND',
      cause: error,
    });
  }
  const why = failure === 'timeout' ? 'no response within the time limit' : code;
  return new StepFailure('GitHostUnavailable', `${host} cannot be reached (${why})`, {
    passing: true,
    cause: error,
  });
}

function lookupFailure(repoUrl: string, found: Exclude<RepositoryLookup, { kind: 'found' }>): StepFailure {
  if (found.kind === 'too_many_redirects') {
    return new StepFailure('GitHostRefused', `${repoUrl} redirects too many times`);
  }
  const { repository, response } = found;
  if (found.kind === 'moved') {
    const message =
      found.host === null
        ? `${repository.href} is not a repository: its host redirects to another page`
        : `${repository.href} has moved to another host, ${found.host}; set repo_url to its new URL`;
    return new StepFailure('GitHostRefused', message);
  }
  const { status } = response;
  if (status === 429 || status >= 500) {
    const message = `${repository.host} responds with status ${status}`;
    return new StepFailure('GitHostUnavailable', message, { passing: true });
  }
  const who = found.withToken
    ? 'the repository does not exist, or the credentials of the integration do not allow access'
    : 'the repository does not exist, or it is private and the deployment has no integration for its host';
  return new StepFailure('GitHostRefused', `${repository.href}: ${who} (status ${status})`);
}

/**
 * Finds the location of a repository and checks that it can be read.
 * @param repoUrl https, without credentials
 * @throws StepFailure GitHostRefused, GitHostUnavailable (`passing` when another attempt may help)
 */
export async function repositoryPlace(repoUrl: string, settings: HostSettings): Promise<RepositoryPlace> {
  const repository = URL.canParse(repoUrl) ? new URL(repoUrl) : null;
  if (repository === null || repository.protocol !== 'https:' || repository.username !== '') {
    throw new StepFailure('GitHostRefused', 'repo_url must be an https URL without credentials');
  }
  const { allowPrivate, caFile, credentials, timeoutMs } = settings;
  const found = await findRepository(
    repository,
    // The NetworkPolicy of builds blocks BERTH_CLOSED_NETWORKS.
    {
      addresses: { allowPrivate, closedNetworks: [] },
      ca: authorities(caFile),
      credentials,
      sendsTokenFirst: false,
    },
    AbortSignal.timeout(timeoutMs),
  ).catch((error) => {
    throw callFailure(error, repository);
  });
  if (found.kind === 'found') return found.place;
  throw lookupFailure(repoUrl, found);
}
