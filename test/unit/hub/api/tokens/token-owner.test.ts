import { expect, test } from 'vitest';
import type { Grants } from '../../../../../src/domain/access/access-policy.ts';
import type { Principal } from '../../../../../src/hub/api/tenancy/principal.ts';
import { ownTokens } from '../../../../../src/hub/api/tokens/token-owner.ts';

const END = new Date('2026-11-30T12:00:00Z');
const SHOP: Grants = {
  isPlatformAdmin: false,
  tenants: [{ tenantId: 'id-shop', tenantName: 'shop', roles: ['viewer'] }],
};
const PLATFORM: Grants = { isPlatformAdmin: true, tenants: [] };
const person = { id: 'person-1', name: 'Ada' };
const tokenWith = (grants: Grants): Principal => ({
  kind: 'person_token',
  tokenId: 'token-1',
  person,
  grants,
  expiresAt: END,
});
const session: Principal = { kind: 'person_session', sessionId: 's', person, grants: SHOP, expiresAt: END };
const workload: Principal = {
  kind: 'workload',
  tokenId: 'token-2',
  name: 'ci',
  grants: SHOP,
  expiresAt: END,
};

const own = (tenantId: string | null) => ({ of: 'person', personId: 'person-1', tenantId });

test.each<[string, Principal, string | null, object | null]>([
  ['a token of a tenant', tokenWith(SHOP), 'id-shop', own('id-shop')],
  ['a token of the platform', tokenWith(PLATFORM), 'id-shop', own(null)],
  ['a session', session, 'id-shop', own(null)],
  ['a workload', workload, 'id-shop', { of: 'token', tokenId: 'token-2' }],
])('%s owns the right tokens', (_who, principal, tenantId, expected) => {
  expect(ownTokens({ principal, tenantId })).toEqual(expected);
});
