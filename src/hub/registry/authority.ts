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

/** The hub as the authority of the platform's registry: who may push and pull there. */

/** What a credential is for. */
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

/** What a client of the registry gets for its credential. */
export interface AccessToken {
  readonly token: string;
  /** Seconds. */
  readonly expiresIn: number;
  readonly issuedAt: Date;
}

export interface RegistryAuthority {
  /** As in BERTH_REGISTRY. */
  readonly registry: string;
  /** What `docker login` takes. */
  readonly host: string;
  /** The registry as tokens name it. */
  readonly service: string;
  /** Where the images of the deployment are, without tag. */
  repositoryOf(owner: Omit<Owner, 'id'>): string;
  /** @param expiresAt null: valid as long as the deployment is there; then it is the same at every call */
  credential(kind: CredentialKind, owner: Owner, expiresAt: Date | null): Credential;
  /** A credential as clients of registries keep it: `config.json` of docker, `.dockerconfigjson` of a Secret. */
  dockerConfig(credential: Credential): string;
  /** What the credential states; null: it is none of ours, or its time is over. */
  read(token: string, now: Date): Statement | null;
  /** @param scopes what is asked for; granted is what the statement gives of it */
  accessToken(statement: Statement, owner: Owner, scopes: readonly string[], now: Date): AccessToken;
  /** For the hub itself and given to nobody: to look into the repository, and to delete from it. */
  cleaningToken(owner: Owner, now: Date): string;
}

/** `issuer` in the registry's configuration. */
export const ISSUER = 'berth';
/** The token says who it is; a name has to be there. */
const USERNAME = 'berth';
/** Clients get another one where theirs runs out in the middle of a push. */
const ACCESS_SECONDS = 300;

/**
 * @param registry BERTH_REGISTRY
 * @param keys the first signs, all are believed
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
