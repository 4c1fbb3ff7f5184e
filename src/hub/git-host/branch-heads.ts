import {
  type BranchHead,
  GitHostError,
  gitUsername,
  type RepositoryAccess,
} from '../../domain/builds/git-host.ts';
import { FairLimiter } from '../../domain/scheduling/fair-limiter.ts';
import {
  findRepository,
  type RepositoryLookup,
  type RepositoryPlace,
} from '../../outbound/find-repository.ts';
import { callFailure, responseFailure } from './failures.ts';
import type { HttpsOptions } from './https-json.ts';
import { listRefs } from './list-refs.ts';

/** Reads the newest commits of branches with git. */

/** Number of git processes at the same time. Their memory counts in the limit of the container. */
const MAX_PROCESSES = 3;

const processes = new FairLimiter({ total: MAX_PROCESSES, perTenant: MAX_PROCESSES - 1 });

const GIT_RESPONSE = 'application/x-git-upload-pack-advertisement';

function lookupFailure({ response }: RepositoryLookup): GitHostError {
  if (response.status === 404)
    return new GitHostError('missing', 'it has no such repository, or the token may not read it');
  return (
    responseFailure(response) ?? new GitHostError('unreadable', 'its response is not that of a git server')
  );
}

/** @throws GitHostError */
async function placeOf(
  { repoUrl }: RepositoryAccess,
  credentials: { readonly username: string; readonly token: string } | null,
  options: HttpsOptions,
): Promise<RepositoryPlace> {
  const { addresses, deadlineMs, ca } = options;
  const found = await findRepository(
    new URL(repoUrl),
    {
      addresses,
      ca: ca === undefined ? undefined : [ca],
      credentials,
      sendsTokenFirst: true,
    },
    AbortSignal.timeout(deadlineMs),
  ).catch((error) => {
    throw callFailure(error, options);
  });
  // Git reads any other response as a list of files, and finds no branch in it.
  if (found.kind === 'found' && found.response.headers['content-type'] === GIT_RESPONSE) return found.place;
  throw lookupFailure(found);
}

/**
 * The newest commits of branches, in their order; null: the branch does not exist.
 * @param branches null: the default branch
 * @param options.path PATH of git
 * @throws GitHostError; Error when git cannot be run
 */
export async function branchHeads(
  access: RepositoryAccess,
  branches: readonly (string | null)[],
  tenantId: string,
  options: HttpsOptions & { readonly path: string },
): Promise<(BranchHead | null)[]> {
  const { provider, token } = access;
  const credentials = token === null ? null : { username: gitUsername(provider), token };
  const place = await placeOf(access, credentials, options);
  const refs = await processes.run(tenantId, () => listRefs(place, credentials, options));
  return branches.map((branch) => refs.head(branch));
}
