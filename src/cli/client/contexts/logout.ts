import type { Host } from '../../command/host.ts';
import { UsageError } from '../../command/usage-error.ts';
import { ApiProblem } from '../call-problem.ts';
import { createClient } from '../client.ts';
import { changeContexts, contextOf, readContexts, type StoredContext, withoutContext } from './store.ts';

/** `berth logout`. */

/** Revokes the token of a context. An expired token needs no revocation. @throws ApiProblem */
async function revoke(context: StoredContext, signal: AbortSignal): Promise<boolean> {
  if ('api_key' in context) return false;
  try {
    const client = createClient({ url: context.url, accessToken: context.access_token, signal });
    await client.DELETE('/v2/auth/token', {});
    return true;
  } catch (error) {
    if (error instanceof ApiProblem && error.status === 401) return true;
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
  const isRevoked = await revoke(contextOf(contexts, name), stopped);
  changeContexts(configHome, (latest) => withoutContext(latest, name));
  const key = isRevoked ? 'its token is revoked' : 'its API key is still valid until it is revoked';
  console.error(`removed the context ${name}; ${key}`);
}
