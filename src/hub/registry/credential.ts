import { createHmac, timingSafeEqual } from 'node:crypto';
import type { SigningKey } from './signing-key.ts';

/**
 * Credentials for the repository of one deployment. Each is a statement with an HMAC of the hub. The hub stores none, and
 * the same statement with the same key is the same text. Pull Secrets in clusters contain them without an expiry, so their
 * format must not change.
 */

/**
 * `push`: for a person, with an expiry. `build`: for a build. `pull`: for the cluster. `source`: for the first step of a
 * build, which reads an uploaded folder.
 */
export const CREDENTIAL_KINDS = ['push', 'build', 'pull', 'source'] as const;
export type CredentialKind = (typeof CREDENTIAL_KINDS)[number];

/** Actions that each kind allows in one repository of its deployment. None allows deletion. */
export const ACTIONS: Readonly<Record<CredentialKind, readonly string[]>> = {
  push: ['pull', 'push'],
  build: ['pull', 'push'],
  pull: ['pull'],
  source: ['pull'],
};

/** The deployment that a credential is for. The repository follows from the deployment and the kind. */
export interface Statement {
  readonly kind: CredentialKind;
  readonly deploymentId: string;
  readonly tenantId: string;
  /** The credential is not valid from this time on. null: valid as long as the deployment exists. */
  readonly expiresAt: Date | null;
}

/** Start of each credential, so that a leaked one can be recognized. */
const PREFIX = 'berth-registry.';
const MAX_LENGTH = 1024;

const seal = (key: SigningKey, body: string) => createHmac('sha256', key.credentialKey).update(body).digest();

/** The credential of a statement. */
export function writeCredential(key: SigningKey, statement: Statement): string {
  const { kind, deploymentId, tenantId, expiresAt } = statement;
  const seconds = expiresAt === null ? null : Math.floor(expiresAt.getTime() / 1000);
  const body = Buffer.from(JSON.stringify([kind, deploymentId, tenantId, seconds])).toString('base64url');
  return `${PREFIX}${body}.${seal(key, body).toString('base64url')}`;
}

/** @param body verified, so it has the form that writeCredential creates */
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
 * The statement of a credential. null: no key verifies it, or it has expired. HMACs are compared in constant time.
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
