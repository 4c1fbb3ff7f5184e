import { expect, test } from 'vitest';
import { NO_GRANTS } from '../../../../../src/domain/access/access-policy.ts';
import { pushTokenEnd } from '../../../../../src/hub/api/builds/push-token-routes.ts';
import type { KeyPrincipal, Principal } from '../../../../../src/hub/api/tenancy/principal.ts';

const NOW = new Date('2026-11-30T12:00:00.750Z');
const SOON = new Date('2026-11-30T12:10:00.900Z');

const key = (expiresAt: Date | null): KeyPrincipal => ({
  kind: 'api_key',
  keyId: 'key-1',
  keyName: 'ci',
  scopes: ['deployments:write'],
  expiresAt,
  keyTenantId: 'shop',
});
const person = { person: { id: 'person-1', name: 'Ada' }, grants: NO_GRANTS, expiresAt: SOON };

test.each<[string, Principal, string]>([
  ['a token of a person', { kind: 'person_token', tokenId: 't', ...person }, '2026-11-30T12:10:00.000Z'],
  [
    'a token of a workload',
    { kind: 'workload', tokenId: 't', name: 'ci', grants: NO_GRANTS, expiresAt: SOON },
    '2026-11-30T12:10:00.000Z',
  ],
  ['a key that expires', key(SOON), '2026-11-30T12:10:00.000Z'],
  [
    'a session of a key that expires',
    { kind: 'key_session', sessionId: 's', key: key(SOON), expiresAt: NOW },
    '2026-11-30T12:10:00.000Z',
  ],
  ['a key without an end', key(null), '2026-11-30T13:00:00.000Z'],
  [
    'a session of a person',
    { kind: 'person_session', sessionId: 's', ...person },
    '2026-11-30T13:00:00.000Z',
  ],
])('a push token of %s ends at the right time', (_who, principal, end) => {
  expect(pushTokenEnd(principal, NOW, 3600).toISOString()).toBe(end);
});
