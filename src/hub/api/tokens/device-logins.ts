import type { FastifyRequest } from 'fastify';
import { parseUserCode } from '../../../domain/access/device-login.ts';
import type { Role } from '../../../domain/access/roles.ts';
import { grantableRoles } from '../../../domain/access/token-grants.ts';
import { UUID_PATTERN } from '../../../domain/core/id.ts';
import { findTenantsOf } from '../../store/tenancy/people.ts';
import { findTenant } from '../../store/tenancy/tenants.ts';
import {
  decideDeviceLogin,
  findWaitingLogin,
  type StoredDeviceLogin,
} from '../../store/tokens/device-logins.ts';
import { ApiError, brokenRules, notFound } from '../core/errors.ts';
import { UNOBSERVED } from '../observe/observer.ts';
import { requireSignedIn, type SignInRoutes } from '../sign-in/signed-in.ts';
import type { PersonSession } from '../tenancy/principal.ts';
import { chosenGrant, type Offer, offersOf, proposedFirst } from './device-decision.ts';

/** Logins of devices, as a signed-in person sees and decides them. */

const isId = (reference: string) => UUID_PATTERN.test(reference);

/** The person who is signed in. @throws ApiError 401, 403, 429 */
export async function requirePerson(routes: SignInRoutes, request: FastifyRequest): Promise<PersonSession> {
  const session = await requireSignedIn(routes, request);
  if (session.kind === 'person_session') return session;
  throw new ApiError(
    403,
    'Only a person can confirm a login, not an API key. Use the key on the machine: berth login --api-key.',
  );
}

/**
 * The waiting login of a code. Wrong codes of a person are limited for each address, and do not block other people there.
 * @throws ApiError 404, 429
 */
export async function waitingLogin(
  { deps, limiter }: SignInRoutes,
  request: FastifyRequest,
  { person }: PersonSession,
  typed: string,
): Promise<StoredDeviceLogin> {
  const kind = `codes ${person.id}`;
  limiter.mayFail(request, kind);
  const code = parseUserCode(typed);
  const login =
    code === null ? null : await deps.database.platform.read((reader) => findWaitingLogin(reader, code));
  if (login !== null) return login;
  limiter.failure(request, kind);
  throw notFound('login with this code');
}

/**
 * What a person can choose for a login. The requested tenant is the first. An admin of the platform can choose it, too, if it
 * exists.
 */
export async function offersFor(
  { deps }: SignInRoutes,
  { grants }: PersonSession,
  { requestedTenant }: StoredDeviceLogin,
): Promise<Offer[]> {
  const offers = proposedFirst(offersOf(grants), requestedTenant);
  if (requestedTenant === null || !grants.isPlatformAdmin) return offers;
  const reference = { ids: [requestedTenant].filter(isId), names: [requestedTenant] };
  const [found] = await deps.database.platform.read((reader) => findTenantsOf(reader, reference));
  if (found === undefined || offers.some(({ tenantId }) => tenantId === found.id)) return offers;
  return [{ tenantId: found.id, tenantName: found.name, roles: grantableRoles(grants, found.id) }, ...offers];
}

/** What a person decided. */
export type Decision =
  | { readonly kind: 'deny' }
  | { readonly kind: 'approve'; readonly tenantId: string | null; readonly roles: readonly Role[] | null };

const NOT_OWN = {
  loc: ['roles'],
  msg: 'must be roles that you have in this tenant',
  type: 'roles_beyond_own',
};

/** Decides a login. @throws ApiError 400 for roles that the person does not have, 404, 409, 429 */
export async function decideLogin(
  routes: SignInRoutes,
  request: FastifyRequest,
  session: PersonSession,
  [typed, decision]: [string, Decision],
): Promise<void> {
  const { deps } = routes;
  const { person, grants } = session;
  const { observer = UNOBSERVED, logger } = deps;
  const { userCode, machine } = await waitingLogin(routes, request, session, typed);
  const isDecided = await deps.database.platform.transaction(async (transaction) => {
    if (decision.kind === 'deny')
      return decideDeviceLogin(transaction, userCode, person.id, { state: 'denied' });
    const grant = chosenGrant(grants, decision.tenantId, decision.roles);
    if (grant === null) throw brokenRules([NOT_OWN]);
    // An admin of the platform can name any tenant.
    if (grant.tenantId !== null && (await findTenant(transaction, grant.tenantId)) === null)
      throw notFound('tenant');
    return decideDeviceLogin(transaction, userCode, person.id, { state: 'approved', ...grant });
  });
  if (!isDecided) throw new ApiError(409, 'The login was decided before.');
  observer.deviceLogin(decision.kind === 'deny' ? 'denied' : 'approved');
  logger.info(
    { requestId: request.id, personId: person.id, person: person.name, machine, decision: decision.kind },
    'a person decided the login of a device',
  );
}
