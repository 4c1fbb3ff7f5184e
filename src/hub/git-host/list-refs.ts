import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates } from 'node:tls';
import { GitHostError } from '../../domain/builds/git-host.ts';
import type { RepositoryPlace } from '../../outbound/find-repository.ts';
import { GitEndedError, type GitResult, gitOf } from '../../outbound/git-process.ts';
import { RefReader } from './refs.ts';

/** Lists the refs of a repository with git. */

export interface ListRefsOptions {
  /** PATH of git. */
  readonly path: string;
  /** Timeout of git, in milliseconds. */
  readonly deadlineMs: number;
  /** Largest list, in bytes. */
  readonly maxBytes: number;
  /** PEM of the certificate authority that replaces Node's own. */
  readonly ca?: string | undefined;
}

/** A response that git cannot use may be endless. With this limit, git lists about 150,000 refs. */
const MEMORY_KIB = 64 * 1024;

/** The failure of git. Its text is not part of the message, because it may contain text of the host. */
function gitFailure({ stderr }: GitResult): GitHostError {
  if (/out of memory/i.test(stderr)) return new GitHostError('unreadable', 'its list of refs is too large');
  if (/unable to access|RPC failed/.test(stderr))
    return new GitHostError('unavailable', 'git could not read its response');
  return new GitHostError('unreadable', 'its response is not that of a git server');
}

/**
 * The refs of a repository.
 * @param place its checked location; git connects to these addresses only, and follows no redirect
 * @throws GitHostError; Error when git cannot be run
 */
export async function listRefs(
  place: RepositoryPlace,
  credentials: { readonly username: string; readonly token: string } | null,
  options: ListRefsOptions,
): Promise<RefReader> {
  const { path, ca, deadlineMs, maxBytes } = options;
  const folder = await mkdtemp(join(tmpdir(), 'berth-git-'));
  const refs = new RefReader();
  let size = 0;
  const onOutput = (chunk: Buffer) => {
    size += chunk.length;
    refs.add(chunk);
    return size > maxBytes ? 'the list is too large' : null;
  };
  try {
    const authorities = ca === undefined ? getCACertificates('default') : [ca];
    const git = gitOf({ ...place, folder, path, authorities, credentials, memoryKiB: MEMORY_KIB });
    // `git ls-remote` runs this program too, but does not wait for it after a failure. In a container, Berth is PID 1 and
    // does not reap such processes. Version 0 of the protocol lists the refs in the first response.
    const args = ['-c', 'protocol.version=0', 'remote-https', place.url, place.url];
    const result = await git(args, { timeoutMs: deadlineMs, input: 'list\n\n', onOutput });
    if (result.code === 0) return refs;
    throw gitFailure(result);
  } catch (error) {
    if (!(error instanceof GitEndedError)) throw error;
    if (size > maxBytes) throw new GitHostError('unreadable', 'its list of refs is too large');
    throw new GitHostError('timeout', `no response within ${deadlineMs} ms`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
