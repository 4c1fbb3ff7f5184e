import { cookieSettings } from '../domain/access/session-cookie.ts';
import { isThisMachine } from '../domain/net/this-machine.ts';
import { ConfigError } from './config-error.ts';
import type { Settings } from './settings.ts';

function problemsOf(settings: Settings, issuer: string): string[] {
  const { protocol } = new URL(issuer);
  const scopes = settings.BERTH_OIDC_SCOPES.split(' ');
  return [
    ...(protocol === 'https:' || isThisMachine(new URL(issuer))
      ? []
      : ['BERTH_OIDC_ISSUER: must be an https URL, because tokens would be readable on the way']),
    ...(settings.BERTH_OIDC_CLIENT_ID === undefined
      ? ['BERTH_OIDC_CLIENT_ID is not set: the identity provider identifies Berth by this id']
      : []),
    ...(scopes.includes('openid') ? [] : ['BERTH_OIDC_SCOPES: must contain openid']),
    ...(cookieSettings(settings.BERTH_PUBLIC_URL ?? null) === null
      ? [
          'BERTH_OIDC_ISSUER needs BERTH_PUBLIC_URL with the https URL of this API, or an http URL of this machine',
        ]
      : []),
  ];
}

/** The identity provider of people. null: none. @throws ConfigError */
function providerOf(settings: Settings) {
  const { BERTH_OIDC_ISSUER: issuer, BERTH_OIDC_CLIENT_ID: clientId } = settings;
  if (issuer === undefined) {
    if (clientId !== undefined) throw new ConfigError(['BERTH_OIDC_CLIENT_ID needs BERTH_OIDC_ISSUER']);
    return null;
  }
  const problems = problemsOf(settings, issuer);
  if (problems.length > 0 || clientId === undefined) throw new ConfigError(problems);
  return {
    issuer,
    clientId,
    clientSecret: settings.BERTH_OIDC_CLIENT_SECRET ?? null,
    scopes: settings.BERTH_OIDC_SCOPES.split(' ').filter((scope) => scope !== ''),
    signingAlgorithm: settings.BERTH_OIDC_SIGNING_ALGORITHM,
  };
}

/** How browsers sign in. @throws ConfigError */
export function signInOf(settings: Settings) {
  return {
    provider: providerOf(settings),
    groupsClaim: settings.BERTH_OIDC_GROUPS_CLAIM,
    idleSeconds: settings.BERTH_SESSION_IDLE_SECONDS,
    maxSeconds: settings.BERTH_SESSION_SECONDS,
  };
}
