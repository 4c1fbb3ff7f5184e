import { z } from 'zod';
import type { GitRepository, ListingProvider } from '../../domain/builds/git-host.ts';

/**
 * Defines how each provider lists the repositories of a token, with the URL of a page and the parser of its response.
 */

/** URL of a page. `number` starts at 1. */
export interface ProviderPage {
  readonly number: number;
  readonly size: number;
}

interface Provider {
  readonly url: (hostUrl: string, page: ProviderPage) => URL;
  readonly answer: z.ZodType<GitRepository[]>;
}

const MAX_TEXT = 2048;
const short = z.string().max(MAX_TEXT);

const githubAnswer = z.array(
  z
    .object({
      full_name: short,
      clone_url: short,
      default_branch: short.nullish(),
      private: z.boolean().nullish(),
    })
    .transform(
      (repository): GitRepository => ({
        fullName: repository.full_name,
        url: repository.clone_url,
        defaultBranch: repository.default_branch ?? null,
        isPrivate: repository.private ?? null,
      }),
    ),
);

const gitlabAnswer = z.array(
  z
    .object({
      path_with_namespace: short,
      http_url_to_repo: short,
      default_branch: short.nullish(),
      visibility: short.nullish(),
    })
    .transform(
      (project): GitRepository => ({
        fullName: project.path_with_namespace,
        url: project.http_url_to_repo,
        defaultBranch: project.default_branch ?? null,
        isPrivate: project.visibility == null ? null : project.visibility !== 'public',
      }),
    ),
);

/** github.com and ghe.com serve the API on a separate host. Other servers serve the API below /api/v3. */
function githubApi(hostUrl: string): string {
  const { hostname } = new URL(hostUrl);
  return hostname === 'github.com' || hostname.endsWith('.ghe.com')
    ? `https://api.${hostname}`
    : `${hostUrl}/api/v3`;
}

function withQuery(url: string, query: Record<string, string | number>): URL {
  const full = new URL(url);
  for (const [name, value] of Object.entries(query)) full.searchParams.set(name, String(value));
  return full;
}

export const PROVIDERS: Readonly<Record<ListingProvider, Provider>> = {
  github: {
    url: (hostUrl, { number, size }) =>
      withQuery(`${githubApi(hostUrl)}/user/repos`, { sort: 'full_name', per_page: size, page: number }),
    answer: githubAnswer,
  },
  gitlab: {
    url: (hostUrl, { number, size }) =>
      withQuery(`${hostUrl}/api/v4/projects`, {
        membership: 'true',
        simple: 'true',
        order_by: 'id',
        sort: 'asc',
        per_page: size,
        page: number,
      }),
    answer: gitlabAnswer,
  },
};
