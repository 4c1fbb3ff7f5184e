import { describe, expect, test } from 'vitest';
import type { Grants } from '../../../../../src/domain/access/access-policy.ts';
import type { TenantRole } from '../../../../../src/domain/access/roles.ts';
import { SCOPES } from '../../../../../src/domain/core/scopes.ts';
import {
  actorOfPrincipal,
  admissionOf,
  grantEndOf,
  isSession,
  type KeyPrincipal,
  limitIdOf,
  type PersonSession,
  type Principal,
} from '../../../../../src/hub/api/tenancy/principal.ts';

const END = new Date('2026-11-30T12:00:00Z');
const LATER = new Date('2027-01-01T00:00:00Z');

const key = (more: Partial<KeyPrincipal> = {}): KeyPrincipal => ({
  kind: 'api_key',
  keyId: 'key-1',
  keyName: 'ci',
  scopes: ['deployments:read'],
  expiresAt: LATER,
  keyTenantId: 'shop',
  ...more,
});

const grantsFor = (tenants: Record<string, TenantRole[]>, isPlatformAdmin = false): Grants => ({
  isPlatformAdmin,
  tenants: Object.entries(tenants).map(([tenantId, roles]) => ({ tenantId, tenantName: tenantId, roles })),
});

const session = (grants: Grants): PersonSession => ({
  kind: 'person_session',
  sessionId: 'session-1',
  person: { id: 'person-1', name: 'ann@example.com' },
  grants,
  expiresAt: END,
});

const READ = ['deployments:read'];

describe('an API key', () => {
  test('acts in its tenant, and in another one only as an admin', () => {
    const own = { kind: 'admitted', tenantId: 'shop', scopes: READ };
    expect(admissionOf(key(), null)).toEqual(own);
    expect(admissionOf(key(), 'shop')).toEqual(own);
    expect(admissionOf(key(), 'bank')).toEqual({ kind: 'unknown' });
    const admin = key({ keyTenantId: null, scopes: ['admin'] });
    expect(admissionOf(admin, null)).toEqual({ kind: 'admitted', tenantId: null, scopes: ['admin'] });
    expect(admissionOf(admin, 'bank')).toEqual({ kind: 'lookup', tenantId: 'bank', scopes: ['admin'] });
  });

  test('is admitted in the same way when it was exchanged for a session', () => {
    const exchanged: Principal = { kind: 'key_session', sessionId: 's', key: key(), expiresAt: END };
    for (const tenant of [null, 'shop', 'bank'])
      expect(admissionOf(exchanged, tenant)).toEqual(admissionOf(key(), tenant));
    expect(actorOfPrincipal(exchanged)).toEqual({ kind: 'api_key', id: 'key-1', name: 'ci' });
    expect(limitIdOf(exchanged)).toBe('key-1');
    expect([isSession(exchanged), isSession(key())]).toEqual([true, false]);
  });
});

describe('a person', () => {
  test('acts in the only tenant without naming it', () => {
    const admission = admissionOf(session(grantsFor({ shop: ['viewer'] })), null);
    expect(admission).toEqual({ kind: 'admitted', tenantId: 'shop', scopes: READ });
  });

  test('must name the tenant when there are several, and has the roles of that tenant', () => {
    const both = session(grantsFor({ shop: ['viewer'], bank: ['secrets'] }));
    expect(admissionOf(both, null)).toEqual({ kind: 'unnamed' });
    expect(admissionOf(both, 'bank')).toEqual({
      kind: 'admitted',
      tenantId: 'bank',
      scopes: ['deployments:read', 'secrets:read'],
    });
    expect(admissionOf(both, 'other')).toEqual({ kind: 'unknown' });
  });

  test('is admitted without a role when no rule matches, whatever tenant the request names', () => {
    const nobody = session(grantsFor({}));
    for (const tenant of [null, 'shop'])
      expect(admissionOf(nobody, tenant)).toEqual({ kind: 'without_roles' });
  });

  test('who is an admin of the platform acts in every tenant that exists', () => {
    const admin = session(grantsFor({ shop: ['viewer'] }, true));
    expect(admissionOf(admin, null)).toEqual({ kind: 'admitted', tenantId: null, scopes: SCOPES });
    expect(admissionOf(admin, 'shop')).toEqual({ kind: 'admitted', tenantId: 'shop', scopes: SCOPES });
    expect(admissionOf(admin, 'bank')).toEqual({ kind: 'lookup', tenantId: 'bank', scopes: SCOPES });
  });
});

test('what a caller creates ends with its credential, except for a person who can sign in again', () => {
  const token: Principal = { ...session(grantsFor({})), kind: 'person_token', tokenId: 't' } as Principal;
  expect(grantEndOf(session(grantsFor({})))).toBeNull();
  expect(grantEndOf(token)).toBe(END);
  expect(grantEndOf({ kind: 'key_session', sessionId: 's', key: key(), expiresAt: END })).toBe(LATER);
  expect(grantEndOf(key())).toBe(LATER);
});
