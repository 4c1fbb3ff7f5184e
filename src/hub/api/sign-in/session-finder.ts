import { NO_GRANTS } from '../../../domain/access/access-policy.ts';
import { isSameIssuer } from '../../../domain/access/identity-provider.ts';
import type { Reader } from '../../store/core/database.ts';
import { findSession, findSessionById, type SessionRow, touchSession } from '../../store/tenancy/sessions.ts';
import type { ApiDeps } from '../core/deps.ts';
import { AUTHENTICATION } from '../tenancy/api-key-cache.ts';
import { grantsOfPerson } from '../tenancy/person-grants.ts';
import type { KeySession, PersonSession } from '../tenancy/principal.ts';

/** Finds sessions. Nothing is cached, so that a sign-out and a change of roles act at once in every process. */

export type Session = PersonSession | KeySession;

/** The lifetimes of sessions, in seconds. */
export interface SessionTimes {
  /** Time without a request after which a session ends. */
  readonly idleSeconds: number;
  /** Time after which a session ends, even if it is in use. */
  readonly maxSeconds: number;
}

/** The defaults of BERTH_SESSION_IDLE_SECONDS and BERTH_SESSION_SECONDS. */
export const SESSION_TIMES: SessionTimes = { idleSeconds: 2 * 3600, maxSeconds: 12 * 3600 };

/** The session of an API key; null: the row belongs to a person. */
function keySessionOf(row: SessionRow): KeySession | null {
  const { id: sessionId, expiresAt, keyId, keyName, keyScopes, keyTenantId, keyExpiresAt } = row;
  if (keyId === null || keyName === null || keyScopes === null) return null;
  const key = {
    kind: 'api_key',
    keyId,
    keyName,
    scopes: keyScopes,
    keyTenantId,
    expiresAt: keyExpiresAt,
  } as const;
  return { kind: 'key_session', sessionId, key, expiresAt };
}

export interface SessionFinder {
  /** The session of the value of a cookie; null: it is not valid. */
  bySecret(secret: string): Promise<Session | null>;
  /** The session with an id, as it is now; null: it has ended. */
  byId(id: string): Promise<Session | null>;
}

export function sessionFinder(deps: ApiDeps): SessionFinder {
  const { idleSeconds } = deps.signIn ?? SESSION_TIMES;
  const scope = () => deps.database.forPlatform(AUTHENTICATION);

  const sessionOf = async (reader: Reader, row: SessionRow | null): Promise<Session | null> => {
    if (row === null) return null;
    const ofKey = keySessionOf(row);
    if (ofKey !== null) return ofKey;
    const { id: sessionId, expiresAt, personId, personName, issuer, groups } = row;
    if (personId === null || personName === null || issuer === null || groups === null) return null;
    const person = { id: personId, name: personName };
    // A person of an identity provider that is no longer configured has no roles.
    const provider = deps.signIn?.provider;
    const isKnown = provider != null && isSameIssuer(provider.issuer, issuer);
    const grants = isKnown ? await grantsOfPerson(deps, reader, { issuer, groups }) : NO_GRANTS;
    return { kind: 'person_session', sessionId, person, grants, expiresAt };
  };

  return {
    async bySecret(secret) {
      const { session, needsTouch } = await scope().read(async (reader) => {
        const row = await findSession(reader, secret, idleSeconds);
        return { session: await sessionOf(reader, row), needsTouch: row?.needsTouch ?? false };
      });
      // If the record fails, the caller is not rejected.
      if (session !== null && needsTouch)
        await scope()
          .transaction((transaction) => touchSession(transaction, session.sessionId))
          .catch(() => undefined);
      return session;
    },
    byId: (id) =>
      scope().read(async (reader) => sessionOf(reader, await findSessionById(reader, id, idleSeconds))),
  };
}
