import type { Host } from '../../command/host.ts';
import { UsageError } from '../../command/usage-error.ts';
import { ApiProblem } from '../call-problem.ts';
import { createClient } from '../client.ts';
import { changeContexts, contextOf, readContexts, type StoredContext, withoutContext } from './store.ts';

/** `berth logout`. */

type Outcome = 'revoked' | 'refused' | 'has_key';

const OUTCOMES: Readonly<Record<Outcome, string>> = {
  revoked: 'its token is revoked',
  refused:
    'warning: the API did not revoke its token, which is valid until it expires; next: ask an admin to revoke it',
  has_key: 'its API key is still valid until it is revoked',
};

/** Revokes the token of a context. An expired token needs no revocation. @throws ApiProblem */
async function revoke(context: StoredContext, signal: AbortSignal): Promise<Outcome> {
  if ('api_key' in context) return 'has_key';
  try {
    const client = createClient({ url: context.url, accessToken: context.access_token, signal });
    await client.DELETE('/v2/auth/token', {});
    return 'revoked';
  } catch (error) {
    const status = error instanceof ApiProblem ? error.status : null;
    if (status === 401) return 'revoked';
    if (status === 403) return 'refused';
    throw error;
  }
}

/** Revokes the token of a context, and removes the context. The context is kept when the API cannot be reached. */
export async function logout(
  host: Host,
  { context: asked }: { readonly context?: string },
  stopped: AbortSignal,
): Promise<undefined> {
  const { configHome } = await host.clientSettings();
  const contexts = readContexts(configHome);
  const name = asked ?? contexts.current;
  if (name === null) throw new UsageError('there is no current context: use --context CONTEXT');
  const outcome = await revoke(contextOf(contexts, name), stopped);
  changeContexts(configHome, (latest) => withoutContext(latest, name));
  console.error(`removed the context ${name}; ${OUTCOMES[outcome]}`);
}
