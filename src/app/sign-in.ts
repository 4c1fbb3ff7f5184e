import type { Config } from '../config/index.ts';
import type { SignInOptions } from '../hub/api/core/deps.ts';
import { CALLBACK_PATH } from '../hub/api/sign-in/sign-in-routes.ts';
import { createOpenIdProvider } from '../hub/identity/openid-provider.ts';

/** Sign-in as configured. The identity provider is called at the first sign-in, so that it may start later. */
export function signInOptions({ signIn, publicUrl }: Pick<Config, 'signIn' | 'publicUrl'>): SignInOptions {
  const { provider, ...rest } = signIn;
  if (provider === null || publicUrl === null) return { ...rest, provider: null };
  const redirectUri = `${publicUrl.replace(/\/+$/, '')}${CALLBACK_PATH}`;
  return { ...rest, provider: createOpenIdProvider({ ...provider, redirectUri }) };
}
