import { GitHostError, type GitHostFailure } from '../../../domain/builds/git-host.ts';
import { ApiError } from '../core/errors.ts';

/** The response for a failure of a git host. It contains no text of the host. */
const ANSWERS: Readonly<Record<GitHostFailure, readonly [status: 502 | 504, detail: string]>> = {
  refused: [
    502,
    'The git host refuses the token of the integration. PATCH the integration with another one.',
  ],
  limited: [502, 'The git host lets no more requests of this token pass for now. Try again later.'],
  missing: [502, 'The git host has no such repository, or the token may not read it.'],
  private_address: [502, 'The git host is at a private address, which this installation does not call.'],
  timeout: [504, 'The git host did not answer in time. Try again.'],
  unavailable: [
    502,
    'The git host cannot be reached or answers with an error. Check host_url, or try again.',
  ],
  unreadable: [502, 'What the git host answers is not what its API answers. Check provider and host_url.'],
};

/** Maps errors of the git host to responses. Other errors are returned unchanged. */
export function gitHostAnswer(error: unknown): unknown {
  return error instanceof GitHostError ? new ApiError(...ANSWERS[error.failure]) : error;
}
