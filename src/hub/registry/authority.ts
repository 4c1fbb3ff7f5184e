import { imageRepository, registryHost, repositoryPath } from '../../domain/net/image-reference.ts';
import { grantedAccess, signAccessToken } from './access-token.ts';
import {
  ACTIONS,
  type CredentialKind,
  readCredential,
  type Statement,
  writeCredential,
} from './credential.ts';
import type { SigningKey } from './signing-key.ts';

/** Authorizes pushes to and pulls from the platform's registry. */

/** The deployment to which a credential belongs. */
export interface Owner {
  readonly id: string;
  readonly tenantId: string;
  readonly appName: string;
}

export interface Credential {
  readonly username: string;
  readonly token: string;
  readonly expiresAt: Date | null;
}

/** The token that a client of the registry gets for its credential. */
export interface AccessToken {
  readonly token: string;
  /** Seconds. */
  readonly expiresIn: number;
  readonly issuedAt: Date;
}

export interface RegistryAuthority {
  /** The registry, as in BERTH_REGISTRY. */
  readonly registry: string;
  /** The host for `docker login`. */
  readonly host: string;
  /** The name of the registry in tokens. */
  readonly service: string;
  /** The repository of the images of the deployment, without tag. */
  repositoryOf(owner: Omit<Owner, 'id'>): string;
  /** @param expiresAt null: the credential is valid as long as the deployment exists, and is the same at every call */
  credential(kind: CredentialKind, owner: Owner, expiresAt: Date | null): Credential;
  /** A credential in the format of registry clients: `config.json` of docker, `.dockerconfigjson` of a Secret. */
  dockerConfig(credential: Credential): string;
  /** The content of a credential; null: Berth did not issue it, or it has expired. */
  read(token: string, now: Date): Statement | null;
  /** @param scopes the requested scopes. The token grants the part of them that the statement allows */
  accessToken(statement: Statement, owner: Owner, scopes: readonly string[], now: Date): AccessToken;
  /** A token only for the hub itself, to list and delete images of the repository. */
  cleaningToken(owner: Owner, now: Date): string;
}

/** `issuer` in the registry's configuration. */
export const ISSUER = 'berth';
/** The user name, which clients require although the token identifies them. */
const USERNAME = 'berth';
/** Lifetime of a token in seconds. Clients request another token if theirs expires during a push. */
const ACCESS_SECONDS = 300;

/**
 * @param registry BERTH_REGISTRY
 * @param keys the first key signs, and all keys are accepted
 */
export function createRegistryAuthority(
  registry: string,
  keys: readonly [SigningKey, ...SigningKey[]],
): RegistryAuthority {
  const host = registryHost(registry);
  const [signer] = keys;
  const repositoryOf = (owner: Omit<Owner, 'id'>) => imageRepository(registry, owner);
  return {
    registry,
    host,
    service: host,
    repositoryOf,
    credential(kind, { id: deploymentId, tenantId }, expiresAt) {
      const token = writeCredential(signer, { kind, deploymentId, tenantId, expiresAt });
      return { username: USERNAME, token, expiresAt };
    },
    dockerConfig({ username, token }) {
      const auth = Buffer.from(`${username}:${token}`).toString('base64');
      return JSON.stringify({ auths: { [host]: { username, password: token, auth } } });
    },
    read: (token, now) => readCredential(keys, token, now),
    accessToken({ kind }, owner, scopes, now) {
      const token = signAccessToken(signer, {
        issuer: ISSUER,
        audience: host,
        subject: `${kind}:${owner.id}`,
        access: grantedAccess(scopes, {
          path: repositoryPath(repositoryOf(owner)),
          actions: ACTIONS[kind],
        }),
        issuedAt: now,
        lifeSeconds: ACCESS_SECONDS,
      });
      return { token, expiresIn: ACCESS_SECONDS, issuedAt: now };
    },
    cleaningToken: (owner, now) =>
      signAccessToken(signer, {
        issuer: ISSUER,
        audience: host,
        subject: `clean:${owner.id}`,
        access: [
          { type: 'repository', name: repositoryPath(repositoryOf(owner)), actions: ['pull', 'delete'] },
        ],
        issuedAt: now,
        lifeSeconds: ACCESS_SECONDS,
      }),
  };
}
