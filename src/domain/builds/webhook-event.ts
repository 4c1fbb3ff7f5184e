import { z } from 'zod';
import { line } from '../kubernetes/text.ts';
import type { Push } from './branch-watch.ts';
import { commitShaSchema } from './build.ts';
import { repositoryKey } from './repository-key.ts';

/** Parses webhook deliveries. Only the used fields of a payload are read. */

/** A push to a branch, or its deletion. */
export interface BranchEvent {
  /** `repositoryKey` of each URL of the repository on the git host. */
  readonly repositories: ReadonlySet<string>;
  /** null: the payload does not contain the value. */
  readonly defaultBranch: string | null;
  /** `after` null: the branch was deleted. */
  readonly push: Omit<Push, 'after'> & { readonly after: string | null };
}

/** `ignored`: an event that does not concern a branch, such as a ping or the push of a tag. */
export type WebhookEvent =
  | { readonly kind: 'ignored'; readonly name: string }
  | ({ readonly kind: 'branch' } & BranchEvent);

const MAX_URL = 2048;
const MAX_BRANCH = 255;
const BRANCHES = 'refs/heads/';

const url = z.string().max(MAX_URL).nullish();
const branchName = line(MAX_BRANCH).min(1);

/**
 * Fields in which GitHub, GitLab and Gitea identify the repository. Only fields that the host generates are used,
 * because in `homepage`, which is free text on GitHub, one repository could impersonate another.
 */
const repositorySchema = z
  .object({
    clone_url: url,
    html_url: url,
    git_http_url: url,
    web_url: url,
    default_branch: branchName.nullish(),
  })
  .nullish();

const pushSchema = z.object({
  ref: line(MAX_BRANCH + BRANCHES.length),
  before: commitShaSchema,
  after: commitShaSchema,
  repository: repositorySchema,
  project: repositorySchema,
});

/** The null commit, which stands for the state before the creation of a branch, or after its deletion. */
const isNone = (commit: string) => /^0+$/.test(commit);

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** Kind of the event. The kind is `push` for every push, including pushes of tags. */
function nameOf(headers: Headers, payload: object): string {
  const github = headers['x-github-event'];
  if (typeof github === 'string') return github;
  const kind = 'object_kind' in payload ? payload.object_kind : undefined;
  return typeof kind === 'string' ? kind : 'unknown';
}

function branchEvent(payload: z.infer<typeof pushSchema>): WebhookEvent {
  const { ref, before, after, repository, project } = payload;
  if (!ref.startsWith(BRANCHES)) return { kind: 'ignored', name: 'push' };
  const places = [repository, project].filter((place) => place != null);
  const urls = places.flatMap(({ default_branch: _, ...named }) => Object.values(named));
  const keys = urls.map((each) => (each == null ? null : repositoryKey(each)));
  return {
    kind: 'branch',
    repositories: new Set(keys.filter((key) => key !== null)),
    defaultBranch: places.map((place) => place.default_branch).find((name) => name != null) ?? null,
    push: {
      branch: ref.slice(BRANCHES.length),
      before: isNone(before) ? null : before,
      after: isNone(after) ? null : after,
    },
  };
}

const MAX_NAME = 64;

/**
 * Parses a delivery.
 * @param payload parsed JSON
 * @returns the issues if the delivery claims to be a push but is not valid
 */
export function readEvent(headers: Headers, payload: object): WebhookEvent | z.ZodError {
  const name = nameOf(headers, payload);
  if (name !== 'push') return { kind: 'ignored', name: name.slice(0, MAX_NAME).toWellFormed() };
  const parsed = pushSchema.safeParse(payload);
  return parsed.success ? branchEvent(parsed.data) : parsed.error;
}
