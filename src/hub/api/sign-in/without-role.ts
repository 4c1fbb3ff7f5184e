import type { FastifyRequest } from 'fastify';
import type { PersonIdentity } from '../../../domain/access/person-claims.ts';
import { appendEvents } from '../../store/core/events.ts';
import { updatePerson } from '../../store/tenancy/people.ts';
import { endSessionsOf } from '../../store/tenancy/sessions.ts';
import { ApiError } from '../core/errors.ts';
import { UNOBSERVED } from '../observe/observer.ts';
import type { SignInRoutes } from './signed-in.ts';

/** Rejects people whom the identity provider signs in, but whose groups have no role. */

const NO_ROLE =
  'is signed in at the identity provider, but has no role in Berth. Ask the administrator of the platform to give a ' +
  'role to one of your groups (access.groups of the policy).';
const TOO_MANY_GROUPS = 'The identity provider left out your groups, because there are too many.';
/** Maximum number of groups in a log line. */
const LOGGED_GROUPS = 20;

/** Takes the roles of former groups from a person who signed in before, and ends the sessions. Other people are not stored. */
async function withdrawRoles({ deps }: SignInRoutes, identity: PersonIdentity): Promise<void> {
  await deps.database.platform.transaction(async (transaction) => {
    const person = await updatePerson(transaction, identity);
    if (person === null) return;
    const sessions = await endSessionsOf(transaction, { personId: person.id });
    if (sessions === 0) return;
    const actor = { kind: 'person', ...person } as const;
    const message = `All sessions of ${person.name} ended, because a new sign-in gave no role.`;
    const details = { sessions, issuer: identity.issuer };
    await appendEvents(transaction, [{ tenantId: null, actor, reason: 'SignedOut', message, details }]);
  });
}

/**
 * The response to a person without a role. Sessions and tokens of the person lose the roles of former groups.
 * @returns ApiError 403
 */
export async function withoutRole(
  routes: SignInRoutes,
  request: FastifyRequest,
  identity: PersonIdentity,
): Promise<ApiError> {
  const { logger, observer = UNOBSERVED } = routes.deps;
  const { issuer, groups, name, hasTooManyGroups } = identity;
  await withdrawRoles(routes, identity);
  observer.signedIn('identity_provider', 'without_role');
  const fields = { requestId: request.id, person: name, issuer, groups: groups.slice(0, LOGGED_GROUPS) };
  logger.info(fields, 'a person without a role was not signed in');
  const reason = hasTooManyGroups ? ` ${TOO_MANY_GROUPS}` : '';
  return new ApiError(403, `${name} ${NO_ROLE}${reason}`);
}
