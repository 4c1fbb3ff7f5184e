import { expect, test } from 'vitest';
import type { Scope } from '../../../../../src/domain/core/scopes.ts';
import { showsSecrets } from '../../../../../src/hub/api/deployments/deployment-response.ts';
import type { KeyPrincipal, Principal } from '../../../../../src/hub/api/tenancy/principal.ts';

const KEY: KeyPrincipal = {
  kind: 'api_key',
  keyId: 'key-1',
  keyName: 'ci',
  scopes: [],
  expiresAt: null,
  keyTenantId: 'shop',
};
const SESSION: Principal = { kind: 'key_session', sessionId: 's', key: KEY, expiresAt: new Date() };
const SEES: Scope[] = ['deployments:read', 'secrets:read'];

test.each<[string, Principal, readonly Scope[], boolean | undefined, boolean]>([
  ['a key with secrets:read gets values', KEY, SEES, undefined, true],
  ['a key with secrets:read that asks for masks gets none', KEY, SEES, true, false],
  ['a key without secrets:read gets none', KEY, ['deployments:read'], false, false],
  ['a session gets none', SESSION, SEES, undefined, false],
  ['a session that asks for values gets them', SESSION, SEES, false, true],
  ['a session without secrets:read gets none', SESSION, ['deployments:read'], false, false],
])('%s', (_what, principal, scopes, mask, expected) => {
  expect(showsSecrets({ principal, scopes }, mask)).toBe(expected);
});
