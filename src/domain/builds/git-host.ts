import { isPublicHost } from '../net/https-url.ts';

/** What the control plane asks of a tenant's git host; the room git-host does it. */

export const GIT_PROVIDERS = ['github', 'gitlab', 'git'] as const;
export type GitProvider = (typeof GIT_PROVIDERS)[number];

/** Providers with an API that lists repositories; of any other git server, nothing but its protocol is known. */
export const LISTING_PROVIDERS = ['github', 'gitlab'] as const satisfies readonly GitProvider[];
export type ListingProvider = (typeof LISTING_PROVIDERS)[number];

/** Whose repositories to list, and where. */
export interface GitAccess {
  readonly provider: ListingProvider;
  /** https URL of the git host, without a slash at its end. */
  readonly hostUrl: string;
  readonly token: string;
}

/** A repository that the token may read. */
export interface GitRepository {
  /** With its owner or group, such as `shop/web`. */
  readonly fullName: string;
  /** https URL to clone: a deployment's repo_url. */
  readonly url: string;
  /** null: the repository is empty. */
  readonly defaultBranch: string | null;
  /** null: the host does not say. */
  readonly isPrivate: boolean | null;
}

/** A repository that is read by git itself, and the credentials for it. */
export interface RepositoryAccess {
  readonly provider: GitProvider;
  /** https URL to clone. */
  readonly repoUrl: string;
  /** null: it is read without credentials. */
  readonly token: string | null;
}

/** User name that goes with a token, where git asks for both. Hosts look at the token alone, but want some name. */
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
  /** Without refs/heads/. */
  readonly branch: string;
  readonly commit: string;
}

/**
 * Why a git host gave no answer: `refused` the token, `limited` the rate, `missing` the repository (or hidden from the token), `private_address` (not called at all),
 * `timeout`, `unavailable` (no connection, an error, a redirect) or `unreadable` (not what its API answers).
 */
export type GitHostFailure =
  | 'refused'
  | 'limited'
  | 'missing'
  | 'private_address'
  | 'timeout'
  | 'unavailable'
  | 'unreadable';

/** Holds no text of the host and nothing of the token. */
export class GitHostError extends Error {
  readonly failure: GitHostFailure;
  constructor(failure: GitHostFailure, detail: string) {
    super(`failed to ask the git host: ${detail}`);
    this.name = 'GitHostError';
    this.failure = failure;
  }
}

/** The port to git hosts. */
export interface GitHost {
  /** Hosts on private and loopback addresses may be called. */
  readonly allowsPrivate: boolean;
  /**
   * Repositories that the token may read, in an order that stays.
   * @throws GitHostError
   */
  listRepositories(
    access: GitAccess,
    page: { readonly limit: number; readonly offset: number },
  ): Promise<readonly GitRepository[]>;
  /**
   * The newest commits of branches of one repository, in their order; null: there is no such branch.
   * @param branches null: the default branch
   * @throws GitHostError
   */
  branchHeads(
    access: RepositoryAccess,
    branches: readonly (string | null)[],
  ): Promise<readonly (BranchHead | null)[]>;
}

/** Whether the host of a URL is public by its name or address alone; what a name resolves to is seen when it is called. */
export const isPublicUrl = (url: string): boolean => isPublicHost(new URL(url).hostname);

/** Whether a repository is on the host of an integration, below its path: its token must go nowhere else. */
export function isOnHost(repositoryUrl: string, hostUrl: string): boolean {
  const [repository, host] = [new URL(repositoryUrl), new URL(hostUrl)];
  const path = host.pathname.replace(/\/$/, '');
  return repository.host === host.host && repository.pathname.startsWith(`${path}/`);
}
