import { describe, expect, test } from 'vitest';
import {
  type AccessPolicy,
  accessPolicySchema,
  grantsOf,
  hasGrants,
  rolesOf,
  scopesIn,
  tenantReferences,
} from '../../../../src/domain/access/access-policy.ts';
import { ROLES, scopesOfRoles, TENANT_ROLES } from '../../../../src/domain/access/roles.ts';
import { SCOPES, TENANT_SCOPES } from '../../../../src/domain/core/scopes.ts';

const ISSUER = 'https://login.example.com';
const SHOP = '0196f0a0-5c1e-7b3a-9d51-0c4f6f1c2a77';
const BANK = '0196f0a0-5c1e-7b3a-9d51-0c4f6f1c2a78';
const EXISTING = [
  { id: SHOP, name: 'shop' },
  { id: BANK, name: 'bank' },
];

const rule = (group: string, tenant: string | undefined, ...roles: string[]) => ({
  issuer: ISSUER,
  group,
  ...(tenant === undefined ? {} : { tenant }),
  roles,
});

const policyOf = (...groups: object[]): AccessPolicy => accessPolicySchema.parse({ groups });
const grants = (policy: AccessPolicy, groups: string[], issuer = ISSUER) =>
  grantsOf(rolesOf(policy, { issuer, groups }), EXISTING);

describe('roles', () => {
  test('give no role of a tenant the scope admin, which acts in every tenant', () => {
    expect(scopesOfRoles(TENANT_ROLES)).toEqual(TENANT_SCOPES);
    expect(scopesOfRoles(['platform_admin'])).toEqual(SCOPES);
  });

  test('all let their holder read deployments', () => {
    for (const role of ROLES) expect(scopesOfRoles([role])).toContain('deployments:read');
    expect(scopesOfRoles([])).toEqual([]);
  });

  test('add up when a person has several', () => {
    expect(scopesOfRoles(['secrets', 'deployer'])).toEqual([
      'deployments:read',
      'deployments:write',
      'secrets:read',
    ]);
  });
});

describe('the rules of the policy file', () => {
  test('are rejected when the platform and a tenant are mixed', () => {
    const problem = (...args: Parameters<typeof rule>) =>
      accessPolicySchema.safeParse({ groups: [rule(...args)] }).error?.issues[0]?.path;
    expect(problem('a', undefined, 'viewer')).toEqual(['groups', 0, 'tenant']);
    expect(problem('a', 'shop', 'platform_admin')).toEqual(['groups', 0, 'roles']);
    expect(problem('a', 'shop', 'owner')).toEqual(['groups', 0, 'roles', 0]);
    expect(problem('a', 'shop')).toEqual(['groups', 0, 'roles']);
    expect(problem('a', undefined, 'platform_admin')).toBeUndefined();
  });

  test('give the union of the roles of all groups, by tenant', () => {
    const policy = policyOf(
      rule('devs', 'shop', 'deployer'),
      rule('leads', 'shop', 'secrets', 'deployer'),
      rule('devs', 'bank', 'viewer'),
      rule('others', 'bank', 'admin'),
    );
    expect(grants(policy, ['devs', 'leads'])).toEqual({
      isPlatformAdmin: false,
      tenants: [
        { tenantId: BANK, tenantName: 'bank', roles: ['viewer'] },
        { tenantId: SHOP, tenantName: 'shop', roles: ['deployer', 'secrets'] },
      ],
    });
  });

  test('give nothing when the group comes from another issuer or has another case', () => {
    const policy = policyOf(rule('devs', 'shop', 'admin'), rule('root', undefined, 'platform_admin'));
    for (const found of [
      grants(policy, ['devs', 'root'], 'https://login.example.com/'),
      grants(policy, ['Devs', 'ROOT']),
      grants(policy, []),
    ])
      expect(hasGrants(found)).toBe(false);
  });

  test('find a tenant by its id or its name, and give nothing for a tenant that does not exist', () => {
    const policy = policyOf(
      rule('devs', SHOP.toUpperCase(), 'viewer'),
      rule('devs', 'shop', 'tasks'),
      rule('devs', 'gone', 'admin'),
    );
    const named = rolesOf(policy, { issuer: ISSUER, groups: ['devs'] });
    expect(tenantReferences(named)).toEqual({ ids: [SHOP], names: ['shop', 'gone'] });
    expect(grantsOf(named, EXISTING).tenants).toEqual([
      { tenantId: SHOP, tenantName: 'shop', roles: ['viewer', 'tasks'] },
    ]);
  });

  test('never match a tenant whose name is the id of another tenant', () => {
    const named = rolesOf(policyOf(rule('devs', SHOP, 'admin')), { issuer: ISSUER, groups: ['devs'] });
    expect(grantsOf(named, [{ id: BANK, name: SHOP }]).tenants).toEqual([]);
  });
});

describe('scopes', () => {
  test('are those of the tenant, and of the platform for its admins', () => {
    const policy = policyOf(rule('devs', 'shop', 'viewer'), rule('root', undefined, 'platform_admin'));
    const developer = grants(policy, ['devs']);
    expect(scopesIn(developer, SHOP)).toEqual(['deployments:read']);
    expect(scopesIn(developer, BANK)).toEqual([]);
    expect(scopesIn(developer, null)).toEqual([]);
    const admin = grants(policy, ['root']);
    for (const tenant of [SHOP, BANK, null]) expect(scopesIn(admin, tenant)).toEqual(SCOPES);
  });
});
