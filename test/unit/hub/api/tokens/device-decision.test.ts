import { expect, test } from 'vitest';
import type { Role } from '../../../../../src/domain/access/roles.ts';
import {
  type Choice,
  type Offer,
  preselected,
  proposedFirst,
} from '../../../../../src/hub/api/tokens/device-decision.ts';
import { decisionPage } from '../../../../../src/hub/api/tokens/device-html.ts';

const SHOP: Offer = { tenantId: 'id-shop', tenantName: 'shop', roles: ['viewer', 'deployer'] };
const BANK: Offer = { tenantId: 'id-bank', tenantName: 'bank', roles: ['viewer', 'admin'] };
const PLATFORM: Offer = { tenantId: null, tenantName: 'the platform', roles: ['platform_admin'] };

const shop = (role: Role | null): Choice => ({ tenantId: 'id-shop', role });

test.each<[string, Offer[], string | null, Role | null, Choice | null]>([
  ['the requested tenant and role', [BANK, SHOP], 'shop', 'viewer', shop('viewer')],
  ['the requested tenant with all own roles', [BANK, SHOP], 'shop', null, shop(null)],
  ['the only tenant', [SHOP], null, 'deployer', shop('deployer')],
  ['nothing when the role is one of another tenant', [BANK, SHOP], 'shop', 'admin', null],
  ['nothing when the tenant is not offered', [BANK], 'shop', 'viewer', null],
  ['nothing when there are several tenants and none is requested', [BANK, SHOP], null, 'viewer', null],
  ['nothing when the only choice is the platform', [PLATFORM], null, null, null],
  ['nothing when the platform is requested by its role', [PLATFORM], null, 'platform_admin', null],
  ['nothing when there is no choice', [], null, null, null],
])('preselects %s', (_what, offers, tenant, role, expected) => {
  const proposed = proposedFirst(offers, tenant);
  expect(preselected(proposed, { tenant, role })).toEqual(expected);
  const login = { userCode: 'BBBB-BBBB', machine: 'laptop', address: '192.0.2.1' };
  const page = decisionPage('/auth/device', 'Ada', {
    ...login,
    requested: { tenant, role },
    offers: proposed,
  });
  const marked = [...page.matchAll(/<option value="([^"]*)" selected>/g)].map(([, value]) => value);
  expect(marked).toEqual([expected === null ? '' : `${expected.tenantId}/${expected.role ?? ''}`]);
});
