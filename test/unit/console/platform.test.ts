import { describe, expect, test } from 'vitest';
import { tokenFiltersOf, tokenOptions } from '../../../src/console/access/filters.ts';
import { keyState } from '../../../src/console/access/key-state.ts';
import type { Listener, Session, Usage } from '../../../src/console/api/types.ts';
import { choicesOf, firstChoice } from '../../../src/console/device/choices.ts';
import { actorKind, actorName } from '../../../src/console/history/actor-text.ts';
import {
  eventsCommand,
  historyFiltersOf,
  localTimeOf,
  timeOfLocal,
} from '../../../src/console/history/filters.ts';
import { expiryOf, ownerOf } from '../../../src/console/platform/key-form.ts';
import {
  lagText,
  listenerFindings,
  waitingByListener,
} from '../../../src/console/platform/listener-facts.ts';
import { policyRows } from '../../../src/console/platform/policy-rows.ts';
import {
  limitsText,
  quotaOptions,
  quotaTextsOf,
  realChanges,
  withQuotas,
} from '../../../src/console/platform/quota-form.ts';
import { sectionsFor } from '../../../src/console/platform/sections.ts';
import { isAdminOf, scopesIn } from '../../../src/console/session/rights.ts';
import { amountRows, amountState } from '../../../src/console/usage/amounts.ts';

describe('rights', () => {
  const session = {
    tenants: [
      { id: 'a', name: 'a', roles: ['admin'], scopes: ['deployments:read', 'deployments:write'] },
      { id: 'b', name: 'b', roles: ['viewer'], scopes: ['deployments:read'] },
    ],
    platform_scopes: [] as string[],
  } as unknown as Session;

  test('are those of the tenant', () => {
    expect([...scopesIn(session, 'a')]).toEqual(['deployments:read', 'deployments:write']);
    expect([...scopesIn(session, 'b')]).toEqual(['deployments:read']);
    expect([...scopesIn(session, 'c')]).toEqual([]);
    expect([isAdminOf(session, 'a'), isAdminOf(session, 'b')]).toEqual([true, false]);
  });

  test('of the platform apply to every tenant', () => {
    const admin = { ...session, platform_scopes: ['admin'] };
    expect([...scopesIn(admin, 'c')]).toEqual(['admin']);
    expect(isAdminOf(admin, 'c')).toBe(true);
  });

  test('decide which pages of the platform are offered', () => {
    const labels = (scopes: string[]) => sectionsFor(new Set(scopes)).map(({ label }) => label);
    expect(labels(['deployments:read'])).toEqual(['Listeners', 'Integrations', 'Policy']);
    expect(labels(['deployments:read', 'admin'])).toContain('Tenants and quotas');
    expect(labels(['listeners:run'])).toEqual([]);
  });
});

describe('history', () => {
  test('takes filters from the URL, and leaves out times that are none', () => {
    const search = { reason: ' Patched ', since: 'yesterday', until: '2030-01-31T00:00:00Z', other: 'x' };
    expect(historyFiltersOf(search)).toEqual({ reason: 'Patched', until: '2030-01-31T00:00:00Z' });
  });

  test('keeps the minute of a local time', () => {
    expect(localTimeOf(timeOfLocal('2030-01-31T14:05'))).toBe('2030-01-31T14:05');
    expect([localTimeOf(''), timeOfLocal('')]).toEqual(['', '']);
  });

  test('builds the words of berth events', () => {
    expect(eventsCommand({ reason: 'Patched', deployment_id: 'id' })).toEqual(['id', '--reason', 'Patched']);
  });

  test('names the actor and its kind', () => {
    const workload = { kind: 'workload', id: '1', name: null } as const;
    expect([actorName(workload), actorKind(workload)]).toEqual(['1', 'pipeline']);
    expect(actorName({ kind: 'person', id: '1', name: 'Ada' })).toBe('Ada');
    expect(actorName({ kind: 'system', id: null, name: null })).toBe('unknown');
  });
});

describe('usage', () => {
  const usage = (used: number, quota: number | null) =>
    ({
      usage: { deployments: used, being_deleted: 0, cpu: 0, memory_mb: 0, storage_gi: 0 },
      quotas: { deployments: quota, cpu: null, memory_mb: null, storage_gi: null },
    }) satisfies Usage;
  const state = (used: number, quota: number | null) => {
    const [row] = amountRows(usage(used, quota));
    return row && amountState(row);
  };

  test.each([
    [3, null, 'off', 'no limit'],
    [5, 10, 'good', '50 % used'],
    [19, 20, 'unsure', '95 % used'],
    [10, 10, 'bad', 'used up'],
    [11, 10, 'bad', 'above the quota'],
    [0, 0, 'good', '0 % used'],
  ])('%d of %s is %s: %s', (used, quota, tone, text) => {
    expect(state(used, quota)).toEqual({ tone, text });
  });

  test('leaves out amounts that the API does not report', () => {
    expect(amountRows(usage(0, 0)).map(({ name }) => name)).not.toContain('Additional hosts');
  });
});

describe('listeners', () => {
  const listener = (changes: Partial<Listener>) =>
    ({ status: 'CONNECTED', unknown_resources: 0, ...changes }) as Listener;

  test('that work have no findings', () => {
    expect(listenerFindings(listener({}))).toEqual([]);
  });

  test.each(['LOST', 'NEVER_SEEN', 'CLUSTER_UNREACHABLE'] as const)('%s names the next step', (status) => {
    const [finding] = listenerFindings(listener({ status }));
    expect(finding?.next).toMatch(/listener|cluster/);
  });

  test('with unknown resources name their number', () => {
    expect(listenerFindings(listener({ unknown_resources: 3 }))[0]?.message).toContain(
      '3 ManagedDeployments',
    );
  });

  test('count the deployments that wait, with those of the platform under null', () => {
    const counts = waitingByListener([
      { source_config: {} },
      { source_config: { listener_id: 'a' } },
      { source_config: { listener_id: null } },
    ]);
    expect([...counts]).toEqual([
      [null, 2],
      ['a', 1],
    ]);
  });

  test('never claim to have no lag if not all deployments were counted', () => {
    expect([lagText(0, true), lagText(0, false)]).toEqual(['none', 'not known']);
    expect([lagText(1, true), lagText(7, false)]).toEqual([
      '1 deployment waits',
      '7 or more deployments wait',
    ]);
  });
});

describe('API keys', () => {
  test('expire after their lifetime, or never', () => {
    const now = Date.parse('2030-01-01T00:00:00Z');
    expect(expiryOf('30d', now)).toBe('2030-01-31T00:00:00.000Z');
    expect(expiryOf('', now)).toBeNull();
  });

  test('are valid, revoked or expired', () => {
    const at = (revoked_at: string | null, expires_at: string | null) =>
      keyState({ revoked_at, expires_at }, Date.parse('2030-01-01T00:00:00Z'));
    expect(at(null, null)).toBe('valid');
    expect(at(null, '2029-12-31T00:00:00Z')).toBe('expired');
    expect(at('2029-12-31T00:00:00Z', null)).toBe('revoked');
  });

  test('belong to the tenant unless the URL names the platform', () => {
    expect([ownerOf({ owner: 'platform' }), ownerOf({ owner: 'x' })]).toEqual([{ owner: 'platform' }, {}]);
  });
});

describe('quotas', () => {
  const tenant = { quotas: { deployments: 5, cpu: null } };
  const stored = quotaTextsOf(tenant);

  test('become numbers, none or empty, and back', () => {
    expect(stored).toMatchObject({ deployments: '5', cpu: 'none', memory_mb: '' });
    expect(withQuotas({ quotas: {} }, stored)).toEqual({ deployments: 5, cpu: null });
  });

  test('that were not changed stay as someone else has set them meanwhile', () => {
    const changes = realChanges(stored, { deployments: ' 5 ', cpu: '4', gpus: '' });
    expect(changes).toEqual({ cpu: '4' });
    const meanwhile = { quotas: { deployments: 9, storage_gi: 100 } };
    expect(withQuotas(meanwhile, changes)).toEqual({ deployments: 9, storage_gi: 100, cpu: 4 });
    expect(withQuotas(meanwhile, { deployments: '' })).toEqual({ storage_gi: 100 });
    const scheduled = { quotas: { schedules: 3 } };
    expect(withQuotas(scheduled, { gpus: '2' })).toEqual({ schedules: 3, gpus: 2 });
  });

  test('name the field of a text that is no quota', () => {
    expect(() => withQuotas(tenant, { memory_mb: 'much' })).toThrow(
      'Memory (MiB) must be a number from 0, or none, not "much".',
    );
  });

  test('have a command unless a quota returns to the policy', () => {
    expect(quotaOptions({ gpus: '2' })).toEqual(['--gpus', '2']);
    expect(quotaOptions({ deployments: '' })).toBeNull();
  });

  test('are shown with their limits', () => {
    const quotas = { deployments: 10, cpu: null, memory_mb: null, storage_gi: null };
    expect(limitsText(quotas)).toBe('Deployments: 10');
    expect(limitsText({ ...quotas, deployments: null })).toBe('no limit');
  });
});

test('the policy has a row for each entry, also for new ones', () => {
  const policy = {
    caps: { scale: 50, new_cap: null },
    volumes: { nfs: false },
    lists: ['a', 'b'],
    empty: {},
  };
  expect(policyRows(policy)).toEqual([
    { entry: 'caps.scale', value: '50' },
    { entry: 'caps.new_cap', value: 'no limit' },
    { entry: 'volumes.nfs', value: 'false' },
    { entry: 'lists', value: 'a, b' },
    { entry: 'empty', value: 'none' },
  ]);
});

test('the filters of access tokens are in the URL and in the command', () => {
  const filters = tokenFiltersOf({ all: 'true', ended: 'no' });
  expect(filters).toEqual({ all: 'true' });
  expect(tokenOptions(filters)).toEqual(['--all']);
});

describe('logins of machines', () => {
  const offer = (tenant_id: string | null, tenant_name: string) => ({
    tenant_id,
    tenant_name,
    roles: ['viewer' as const, 'deployer' as const],
  });
  const [a, b] = [offer('id-a', 'a'), offer('id-b', 'b')];
  const first = (
    offers: (typeof a)[],
    requested_tenant: string | null,
    requested_role: 'viewer' | 'admin' | null,
  ) => firstChoice({ offers, requested_tenant, requested_role });

  test('preselect only what the machine asks for', () => {
    expect(first([a, b], 'a', 'viewer')).toBe('id-a/viewer');
    expect(first([a, b], 'ID-A', null)).toBe('id-a/');
    expect(first([a], null, null)).toBe('id-a/');
  });

  test('preselect nothing if the person must choose', () => {
    expect(first([a, b], null, null)).toBe('');
    expect(first([a, b], 'c', null)).toBe('');
    expect(first([a], null, 'admin')).toBe('');
    expect(first([offer(null, 'the platform')], null, null)).toBe('');
    expect(first([], null, null)).toBe('');
  });

  test('offer all roles of a tenant together, and each one', () => {
    expect(choicesOf({ offers: [a] }).map(({ value }) => value)).toEqual([
      'id-a/',
      'id-a/viewer',
      'id-a/deployer',
    ]);
  });
});
