import { GitHostError, type GitHostFailure } from '../../../domain/builds/git-host.ts';
import { ApiError } from '../core/errors.ts';

/** The response for a failure of a git host. The response contains no text of the host. */
const ANSWERS: Readonly<Record<GitHostFailure, readonly [status: 502 | 504, detail: string]>> = {
  refused: [
    502,
    'The git host rejects the token of the integration. PATCH the integration with another token.',
  ],
  limited: [502, 'The git host has reached its request limit for this token. Try again later.'],
  missing: [502, 'The repository does not exist on the git host, or the token does not allow access.'],
  private_address: [
    502,
    'The git host has a private address, and this installation does not call private addresses.',
  ],
  timeout: [504, 'The git host did not respond within the time limit. Try again.'],
  unavailable: [
    502,
    'The git host cannot be reached or responds with an error. Check host_url, or try again.',
  ],
  unreadable: [502, 'The response of the git host does not match its API. Check provider and host_url.'],
};

/** Maps errors of the git host to responses. Other errors are returned unchanged. */
export function gitHostAnswer(error: unknown): unknown {
  return error instanceof GitHostError ? new ApiError(...ANSWERS[error.failure]) : error;
}
