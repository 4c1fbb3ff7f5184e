import { readFileSync } from 'node:fs';
import { UsageError } from '../../command/usage-error.ts';
import { ApiProblem } from '../call-problem.ts';
import { type Answer, createClient } from '../client.ts';
import { headerValue, type IdToken } from './credential.ts';

/** Exchanges the token of a pipeline for an access token, and renews it while a command runs. */

export type Issued = Answer<'post', '/v2/auth/token'>;

/** Time before its expiry in which an access token is renewed, in milliseconds. */
const RENEW_BEFORE_MS = 60_000;

export interface WorkloadAccess {
  readonly url: string;
  readonly idToken: IdToken;
  /** null: the tenant of the first rule that the token meets. */
  readonly tenantId: string | null;
  readonly signal: AbortSignal;
}

/** @throws UsageError when the file cannot be read, or contains no token */
function textOf(idToken: IdToken): string {
  if ('value' in idToken) return headerValue('BERTH_ID_TOKEN', idToken.value.trim());
  try {
    return headerValue('the file of BERTH_ID_TOKEN_FILE', readFileSync(idToken.file, 'utf8').trim());
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageError(`failed to read the file of BERTH_ID_TOKEN_FILE (${code}): check its path`, 1);
  }
}

/** The API names the field of the request; the user knows the variable. */
function forUser(error: unknown): unknown {
  if (!(error instanceof ApiProblem) || error.status !== 400) return error;
  const reasons = error.reasons.map(({ message }) => message).join('; ');
  return new ApiProblem(
    400,
    `400: the API rejected the token of the pipeline (BERTH_ID_TOKEN): it ${reasons}`,
    'docs/sign-in.md lists the settings of pipelines',
    error.reasons,
  );
}

/** Exchanges the token once. @throws ApiProblem, UsageError */
export async function exchange({ url, idToken, tenantId, signal }: WorkloadAccess): Promise<Issued> {
  const client = createClient({ url, signal });
  const body = {
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange' as const,
    subject_token: textOf(idToken),
    ...(tenantId === null ? {} : { tenant_id: tenantId }),
  };
  return client.POST('/v2/auth/token', { body }).catch((error) => {
    throw forUser(error);
  });
}

/**
 * The access token of a workload for each request. The token is created at the first request, and renewed before it
 * expires. A failed renewal is not an error while the former token is valid.
 */
export function accessTokenOf(access: WorkloadAccess): () => Promise<string> {
  let current: { token: string; expiresAt: number } | null = null;
  let pending: Promise<string> | null = null;
  const renew = async (): Promise<string> => {
    try {
      const { access_token: token, expires_in: seconds } = await exchange(access);
      current = { token, expiresAt: performance.now() + seconds * 1000 };
      return token;
    } catch (error) {
      if (current !== null && current.expiresAt > performance.now()) return current.token;
      throw error;
    } finally {
      pending = null;
    }
  };
  return async () => {
    if (current !== null && current.expiresAt - RENEW_BEFORE_MS > performance.now()) return current.token;
    pending ??= renew();
    return pending;
  };
}
