import { expect, test } from 'vitest';
import { type Grants, NO_GRANTS } from '../../../../src/domain/access/access-policy.ts';
import type { TenantRole } from '../../../../src/domain/access/roles.ts';
import {
  canGrant,
  grantableRoles,
  grantsOfPersonToken,
  type TokenGrant,
} from '../../../../src/domain/access/token-grants.ts';

const person = (...roles: TenantRole[]): Grants => ({
  isPlatformAdmin: false,
  tenants: [{ tenantId: 'shop', tenantName: 'Shop', roles }],
});
const ADMIN: Grants = { isPlatformAdmin: true, tenants: [] };
const token = (more: Partial<TokenGrant> = {}): TokenGrant => ({
  tenantId: 'shop',
  tenantName: 'Shop',
  roles: ['deployer'],
  ...more,
});

test('lets a person pass on roles whose scopes the person has', () => {
  expect(grantableRoles(person('admin'), 'shop')).toContain('deployer');
  expect(grantableRoles(person('deployer'), 'shop')).not.toContain('admin');
  expect(grantableRoles(person('deployer'), 'shop')).not.toContain('secrets');
  expect(grantableRoles(person('admin'), 'other')).toEqual([]);
  expect(grantableRoles(ADMIN, 'other')).toContain('admin');
});

test.each<[string, Grants, TokenGrant, boolean]>([
  ['own role', person('deployer'), token(), true],
  ['role of an admin of the tenant', person('admin'), token({ roles: ['deployer', 'secrets'] }), true],
  ['role that the person lacks', person('viewer'), token(), false],
  ['role in another tenant', person('admin'), token({ tenantId: 'other' }), false],
  ['token without roles', person('admin'), token({ roles: [] }), false],
  ['role of the platform in a tenant', ADMIN, token({ roles: ['platform_admin'] }), false],
  ['role of the platform', ADMIN, token({ tenantId: null, roles: ['platform_admin'] }), true],
  [
    'role of the platform for others',
    person('admin'),
    token({ tenantId: null, roles: ['platform_admin'] }),
    false,
  ],
  ['tenant role on the platform', ADMIN, token({ tenantId: null, roles: ['admin'] }), false],
])('decides about a token with the %s', (_what, current, grant, expected) => {
  expect(canGrant(current, grant)).toBe(expected);
});

test('takes a role from the token when the person loses it', () => {
  const grant = token({ roles: ['deployer', 'secrets'] });
  expect(grantsOfPersonToken(grant, person('admin'))).toEqual(person('deployer', 'secrets'));
  expect(grantsOfPersonToken(grant, person('deployer'))).toEqual(person('deployer'));
  expect(grantsOfPersonToken(grant, NO_GRANTS)).toEqual(NO_GRANTS);
  const ofPlatform = token({ tenantId: null, roles: ['platform_admin'] });
  expect(grantsOfPersonToken(ofPlatform, ADMIN)).toEqual(ADMIN);
  expect(grantsOfPersonToken(ofPlatform, person('admin'))).toEqual(NO_GRANTS);
});
