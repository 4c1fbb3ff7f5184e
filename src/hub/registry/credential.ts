import { createHmac, timingSafeEqual } from 'node:crypto';
import type { SigningKey } from './signing-key.ts';

/**
 * Credentials for the repository of one deployment. Each is a statement of the hub, sealed by it: nothing is stored, and
 * the same statement under the same key is the same text.
 */

/** `push`: of a person, for a while. `build`: of a build. `pull`: of the cluster. */
export const CREDENTIAL_KINDS = ['push', 'build', 'pull'] as const;
export type CredentialKind = (typeof CREDENTIAL_KINDS)[number];

/** What may be done with each in the repository of its deployment. Nothing is deleted by any. */
export const ACTIONS: Readonly<Record<CredentialKind, readonly string[]>> = {
  push: ['pull', 'push'],
  build: ['pull', 'push'],
  pull: ['pull'],
};

/** Whom a credential speaks for. The repository follows from the deployment. */
export interface Statement {
  readonly kind: CredentialKind;
  readonly deploymentId: string;
  readonly tenantId: string;
  /** Not valid from then on; null: as long as the deployment is there. */
  readonly expiresAt: Date | null;
}

/** Begins each credential, so that one that leaked can be told for what it is. */
const PREFIX = 'berth-registry.';
const MAX_LENGTH = 1024;

const seal = (key: SigningKey, body: string) => createHmac('sha256', key.credentialKey).update(body).digest();

/** A statement as the text that is given out. */
export function writeCredential(key: SigningKey, statement: Statement): string {
  const { kind, deploymentId, tenantId, expiresAt } = statement;
  const seconds = expiresAt === null ? null : Math.floor(expiresAt.getTime() / 1000);
  const body = Buffer.from(JSON.stringify([kind, deploymentId, tenantId, seconds])).toString('base64url');
  return `${PREFIX}${body}.${seal(key, body).toString('base64url')}`;
}

/** Only of what was sealed: it has the form that writeCredential gives it. */
function parseBody(body: string): Statement {
  const [kind, deploymentId, tenantId, seconds] = JSON.parse(Buffer.from(body, 'base64url').toString()) as [
    CredentialKind,
    string,
    string,
    number | null,
  ];
  return { kind, deploymentId, tenantId, expiresAt: seconds === null ? null : new Date(seconds * 1000) };
}

/**
 * The statement of a credential that one of the keys has sealed and whose time is not over; null: it is none. Seals are
 * compared in constant time.
 */
export function readCredential(keys: readonly SigningKey[], text: string, now: Date): Statement | null {
  if (!text.startsWith(PREFIX) || text.length > MAX_LENGTH) return null;
  const [body = '', signature = '', ...more] = text.slice(PREFIX.length).split('.');
  const given = Buffer.from(signature, 'base64url');
  const isSealed = keys
    .map((key) => seal(key, body))
    .filter((expected) => expected.length === given.length && timingSafeEqual(expected, given));
  if (isSealed.length === 0 || more.length > 0) return null;
  const statement = parseBody(body);
  return statement.expiresAt !== null && statement.expiresAt <= now ? null : statement;
}
