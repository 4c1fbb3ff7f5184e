import {
  imageRepository,
  registryHost,
  repositoryPath,
  sourceRepository,
} from '../../domain/net/image-reference.ts';
import { grantedAccess, signAccessToken } from './access-token.ts';
import {
  ACTIONS,
  type CredentialKind,
  readCredential,
  type Statement,
  writeCredential,
} from './credential.ts';
import type { SigningKey } from './signing-key.ts';

/** The hub as the token authority of the platform's registry: it decides who may push and pull. */

/** The deployment that owns a repository. */
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

/** The token that a client of the registry receives for its credential. */
export interface AccessToken {
  readonly token: string;
  /** In seconds. */
  readonly expiresIn: number;
  readonly issuedAt: Date;
}

export interface RegistryAuthority {
  /** Value of BERTH_REGISTRY. */
  readonly registry: string;
  /** Argument of `docker login`. */
  readonly host: string;
  /** Name of the registry in tokens. */
  readonly service: string;
  /** Repository for the images of the deployment, without tag. */
  repositoryOf(owner: Omit<Owner, 'id'>): string;
  /** Repository for the uploaded folders of the deployment. Only the hub writes to it. */
  sourceRepositoryOf(owner: Omit<Owner, 'id'>): string;
  /** @param expiresAt null: valid as long as the deployment exists; then every call returns the same credential */
  credential(kind: CredentialKind, owner: Owner, expiresAt: Date | null): Credential;
  /** A credential in the format of `config.json` of docker and `.dockerconfigjson` of a Secret. */
  dockerConfig(credential: Credential): string;
  /** The statement of a credential. null: it is not valid, or has expired. */
  read(token: string, now: Date): Statement | null;
  /** @param scopes the requested access. The token contains the part that the statement allows */
  accessToken(statement: Statement, owner: Owner, scopes: readonly string[], now: Date): Promise<AccessToken>;
  /** A token for the cleanup by the hub, to list and delete images of the repository. It is never sent to a client. */
  cleaningToken(owner: Owner, now: Date): Promise<string>;
  /** A token for the hub, to store and delete uploaded folders. It is never sent to a client. */
  sourceToken(owner: Owner, now: Date): Promise<string>;
}

/** `issuer` in the registry's configuration. */
export const ISSUER = 'berth';
/** Clients require a user name. The password alone identifies the client. */
const USERNAME = 'berth';
/** Clients request another token if theirs expires during a push. */
const ACCESS_SECONDS = 300;

/**
 * @param registry BERTH_REGISTRY
 * @param keys the first one signs, and all are accepted
 */
export function createRegistryAuthority(
  registry: string,
  keys: readonly [SigningKey, ...SigningKey[]],
): RegistryAuthority {
  const host = registryHost(registry);
  const [signer] = keys;
  const repositoryOf = (owner: Omit<Owner, 'id'>) => imageRepository(registry, owner);
  const sourceRepositoryOf = (owner: Omit<Owner, 'id'>) => sourceRepository(registry, owner);
  /** A token with which the hub itself calls the registry. */
  const ownToken = (use: string, owner: Owner, repository: string, actions: readonly string[], now: Date) =>
    signAccessToken(signer, {
      issuer: ISSUER,
      audience: host,
      subject: `${use}:${owner.id}`,
      access: [{ type: 'repository', name: repositoryPath(repository), actions }],
      issuedAt: now,
      lifeSeconds: ACCESS_SECONDS,
    });
  return {
    registry,
    host,
    service: host,
    repositoryOf,
    sourceRepositoryOf,
    credential(kind, { id: deploymentId, tenantId }, expiresAt) {
      const token = writeCredential(signer, { kind, deploymentId, tenantId, expiresAt });
      return { username: USERNAME, token, expiresAt };
    },
    dockerConfig({ username, token }) {
      const auth = Buffer.from(`${username}:${token}`).toString('base64');
      return JSON.stringify({ auths: { [host]: { username, password: token, auth } } });
    },
    read: (token, now) => readCredential(keys, token, now),
    async accessToken({ kind }, owner, scopes, now) {
      const token = await signAccessToken(signer, {
        issuer: ISSUER,
        audience: host,
        subject: `${kind}:${owner.id}`,
        access: grantedAccess(scopes, {
          path: repositoryPath(kind === 'source' ? sourceRepositoryOf(owner) : repositoryOf(owner)),
          actions: ACTIONS[kind],
        }),
        issuedAt: now,
        lifeSeconds: ACCESS_SECONDS,
      });
      return { token, expiresIn: ACCESS_SECONDS, issuedAt: now };
    },
    cleaningToken: (owner, now) => ownToken('clean', owner, repositoryOf(owner), ['pull', 'delete'], now),
    sourceToken: (owner, now) =>
      ownToken('upload', owner, sourceRepositoryOf(owner), ['pull', 'push', 'delete'], now),
  };
}
