import type * as OpenId from 'openid-client';
import {
  type IdentityProvider,
  isSameIssuer,
  SignInError,
  type SignInProof,
} from '../../domain/access/identity-provider.ts';
import type { Claims } from '../../domain/access/person-claims.ts';
import { failureOf } from './sign-in-failure.ts';

/**
 * The client of an identity provider, for the authorization code flow with PKCE. openid-client makes the checks of OpenID
 * Connect: state, nonce, issuer, audience, times, and the signature of the ID token.
 */

export interface OpenIdSettings {
  /** Issuer, as in the claim iss. https, or http on this machine. */
  readonly issuer: string;
  readonly clientId: string;
  /** null: a public client, which only PKCE protects. */
  readonly clientSecret: string | null;
  readonly scopes: readonly string[];
  /** The only algorithm that the signature of an ID token may have. It is asymmetric. */
  readonly signingAlgorithm: string;
  /** Address of the callback, from BERTH_PUBLIC_URL. */
  readonly redirectUri: string;
}

/** Maximum time of one request to the identity provider, in seconds. */
const TIMEOUT_SECONDS = 10;
/** Difference of clocks that is tolerated, in seconds. */
const CLOCK_TOLERANCE_SECONDS = 60;
/** Time for which the addresses of the identity provider are kept, in milliseconds. */
const METADATA_TTL_MS = 5 * 60_000;

type Library = typeof OpenId;

/** The library is loaded when it is needed, because most processes have no identity provider. */
const library = (): Promise<Library> => import('openid-client');

/** OpenID Connect prefers Basic. A provider that does not support it names the others. */
function authenticationOf(
  { ClientSecretBasic, ClientSecretPost, None }: Library,
  { clientSecret }: OpenIdSettings,
  supported: readonly string[] | undefined,
): OpenId.ClientAuth {
  if (clientSecret === null) return None();
  const usesBasic = supported === undefined || supported.includes('client_secret_basic');
  return usesBasic ? ClientSecretBasic(clientSecret) : ClientSecretPost(clientSecret);
}

function configure(
  openid: Library,
  settings: OpenIdSettings,
  metadata: OpenId.ServerMetadata,
): OpenId.Configuration {
  const client: Partial<OpenId.ClientMetadata> = {
    id_token_signed_response_alg: settings.signingAlgorithm,
    [openid.clockTolerance]: CLOCK_TOLERANCE_SECONDS,
  };
  const supported = metadata.token_endpoint_auth_methods_supported;
  const authentication = authenticationOf(openid, settings, supported);
  // The library keeps the keys of the provider for minutes with this object. A copy makes it read them for each sign-in,
  // so that new keys are known and removed keys are rejected at once.
  const configuration = new openid.Configuration(
    structuredClone(metadata),
    settings.clientId,
    client,
    authentication,
  );
  configuration.timeout = TIMEOUT_SECONDS;
  // Without this, the library trusts the connection and does not check the signature.
  openid.enableNonRepudiationChecks(configuration);
  if (settings.issuer.startsWith('http:')) openid.allowInsecureRequests(configuration);
  return configuration;
}

/** Some providers serve one configuration for many issuers, so the issuer of the token is compared, too. */
function requireIssuer(claims: Claims, issuer: string): Claims {
  const { iss } = claims;
  if (typeof iss === 'string' && isSameIssuer(iss, issuer)) return claims;
  throw new SignInError('invalid', 'the token is from another issuer than BERTH_OIDC_ISSUER');
}

/** Creates the client. The identity provider is called at the first sign-in. */
export function createOpenIdProvider(settings: OpenIdSettings): IdentityProvider {
  const { issuer, redirectUri, scopes } = settings;
  let known: { readonly metadata: Promise<OpenId.ServerMetadata>; readonly until: number } | null = null;

  const discover = async (): Promise<OpenId.ServerMetadata> => {
    const openid = await library();
    const execute = issuer.startsWith('http:') ? [openid.allowInsecureRequests] : [];
    const options = { timeout: TIMEOUT_SECONDS, execute };
    const found = await openid.discovery(
      new URL(issuer),
      settings.clientId,
      undefined,
      openid.None(),
      options,
    );
    const { supportsPKCE: _, ...metadata } = found.serverMetadata();
    return metadata;
  };
  const metadataOf = (): Promise<OpenId.ServerMetadata> => {
    const now = performance.now();
    if (known === null || known.until <= now) {
      const metadata = discover();
      known = { metadata, until: now + METADATA_TTL_MS };
      metadata.catch(() => {
        known = null;
      });
    }
    return known.metadata;
  };

  return {
    issuer,
    async authorizationUrl({ state, nonce, verifier }) {
      try {
        const openid = await library();
        const configuration = configure(openid, settings, await metadataOf());
        const url = openid.buildAuthorizationUrl(configuration, {
          redirect_uri: redirectUri,
          scope: scopes.join(' '),
          state,
          nonce,
          code_challenge: await openid.calculatePKCECodeChallenge(verifier),
          code_challenge_method: 'S256',
        });
        return url.href;
      } catch (error) {
        throw failureOf(error);
      }
    },
    async redeem(query, proof: SignInProof) {
      try {
        const openid = await library();
        const configuration = configure(openid, settings, await metadataOf());
        const tokens = await openid.authorizationCodeGrant(
          configuration,
          new URL(`${redirectUri}?${query}`),
          {
            expectedState: proof.state,
            expectedNonce: proof.nonce,
            pkceCodeVerifier: proof.verifier,
            idTokenExpected: true,
          },
        );
        const claims = tokens.claims();
        if (claims === undefined) throw new SignInError('invalid', 'the answer has no ID token');
        return requireIssuer(claims as unknown as Claims, issuer);
      } catch (error) {
        throw failureOf(error);
      }
    },
  };
}
