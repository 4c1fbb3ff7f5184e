import { isPublicHost } from '../net/https-url.ts';

/** The interface of the control plane to the git hosts of tenants. hub/git-host implements it. */

export const GIT_PROVIDERS = ['github', 'gitlab', 'git'] as const;
export type GitProvider = (typeof GIT_PROVIDERS)[number];

/** Providers with an API that lists repositories. Other git servers are accessed only with the git protocol. */
export const LISTING_PROVIDERS = ['github', 'gitlab'] as const satisfies readonly GitProvider[];
export type ListingProvider = (typeof LISTING_PROVIDERS)[number];

/** Git host and credentials for a list of repositories. */
export interface GitAccess {
  readonly provider: ListingProvider;
  /** https URL of the git host, without a trailing slash. */
  readonly hostUrl: string;
  readonly token: string;
}

/** A repository that the token can read. */
export interface GitRepository {
  /** Name with its owner or group, such as `shop/web`. */
  readonly fullName: string;
  /** https URL to clone, as in repo_url of a deployment. */
  readonly url: string;
  /** null: the repository is empty. */
  readonly defaultBranch: string | null;
  /** null: the host does not report the value. */
  readonly isPrivate: boolean | null;
}

/** A repository that is read with the git protocol, with credentials. */
export interface RepositoryAccess {
  readonly provider: GitProvider;
  /** https URL to clone. */
  readonly repoUrl: string;
  /** null: no credentials are sent. */
  readonly token: string | null;
}

/** User name for basic authentication with a token. Hosts check only the token, but require a user name. */
export function gitUsername(provider: GitProvider): string {
  return USERNAMES[provider];
}

const USERNAMES: Readonly<Record<GitProvider, string>> = {
  github: 'x-access-token',
  gitlab: 'oauth2',
  git: 'git',
};

/** A branch and its newest commit. */
export interface BranchHead {
  /** Name of the branch without refs/heads/. */
  readonly branch: string;
  readonly commit: string;
}

/**
 * Why a call to a git host failed. `refused`: the token was rejected. `limited`: rate limit. `missing`: the repository
 * does not exist, or the token cannot read it. `private_address`: the host was not called. `timeout`. `unavailable`: no
 * connection, an error or a redirect. `unreadable`: not a valid response.
 */
export type GitHostFailure =
  | 'refused'
  | 'limited'
  | 'missing'
  | 'private_address'
  | 'timeout'
  | 'unavailable'
  | 'unreadable';

/** A failed call. The error contains no text of the host and no part of the token. */
export class GitHostError extends Error {
  readonly failure: GitHostFailure;
  constructor(failure: GitHostFailure, detail: string) {
    super(`failed to call the git host: ${detail}`);
    this.name = 'GitHostError';
    this.failure = failure;
  }
}

/** Client of git hosts. */
export interface GitHost {
  /** Whether hosts with private and loopback addresses may be called. */
  readonly allowsPrivate: boolean;
  /**
   * Repositories that the token can read, in a stable order.
   * @throws GitHostError
   */
  listRepositories(
    access: GitAccess,
    page: { readonly limit: number; readonly offset: number },
  ): Promise<readonly GitRepository[]>;
  /**
   * The newest commits of branches of a repository, in the order of `branches`. null: the branch does not exist.
   * @param branches names of branches; null means the default branch
   * @param tenantId the tenant that is served; tenants take turns
   * @throws GitHostError
   */
  branchHeads(
    access: RepositoryAccess,
    branches: readonly (string | null)[],
    tenantId: string,
  ): Promise<readonly (BranchHead | null)[]>;
}

/**
 * Whether the host of a URL is public according to its name or address. Resolved addresses are checked when the host is
 * called.
 */
export const isPublicUrl = (url: string): boolean => isPublicHost(new URL(url).hostname);

/**
 * Whether a repository is on the host of an integration, below its path. The token must not be sent to other hosts or
 * paths.
 */
export function isOnHost(repositoryUrl: string, hostUrl: string): boolean {
  const [repository, host] = [new URL(repositoryUrl), new URL(hostUrl)];
  const path = host.pathname.replace(/\/$/, '');
  return repository.host === host.host && repository.pathname.startsWith(`${path}/`);
}
