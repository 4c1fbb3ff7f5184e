import { describe, expect, test } from 'vitest';
import { challengeOf } from '../../../../../src/domain/app-hosts/challenge.ts';
import { shownDomains } from '../../../../../src/hub/api/domains/domains-status.ts';
import type { DeploymentRecord } from '../../../../../src/hub/store/core/records.ts';

const NOW = new Date('2026-01-01T00:00:00Z');
const HOST = 'shop.example.org';
const READY = { host: HOST, dns: 'READY', proof: 'READY', certificate: 'READY', route: 'READY' } as const;
const UNKNOWN = { dns: 'UNKNOWN', proof: 'UNKNOWN', certificate: 'UNKNOWN', route: 'UNKNOWN' };

/** A deployment whose cluster has reported that its host is ready. */
const record = (more: object = {}, listener: object = {}) =>
  ({
    sourceConfig: { domains: [HOST] },
    namespace: 'apps',
    domainToken: 'token',
    generation: 2,
    status: 'READY',
    deleteRequestedAt: null,
    purgeAfter: null,
    listener: { alive: true, unseen: null, ...listener },
    observation: { domains: { generation: 2, hosts: [READY] } },
    ...more,
  }) as unknown as DeploymentRecord;
const shown = (of: DeploymentRecord) => shownDomains(of, NOW).domains_status;

describe('domains_status', () => {
  test('has the reported state and the TXT record of each host, in the order of the field', () => {
    const challenge = challengeOf(HOST, 'apps', 'token');
    expect(shown(record())).toEqual([{ ...READY, challenge }]);
    const other = 'www.example.org';
    const both = record({ sourceConfig: { domains: [other, HOST] } });
    expect(shown(both)).toEqual([
      { host: other, ...UNKNOWN, challenge: challengeOf(other, 'apps', 'token') },
      { ...READY, challenge },
    ]);
    expect(JSON.stringify(shown(both))).not.toContain('"token"');
  });

  test('is absent without hosts', () => {
    expect(shownDomains(record({ sourceConfig: {} }), NOW)).toEqual({});
  });

  test.each([
    ['before the first report', record({ observation: null })],
    ['when the operator does not report hosts', record({ observation: { domains: null } })],
    ['when the report is about an earlier generation', record({ generation: 3 })],
    ['when the listener is lost', record({ status: 'UNKNOWN' }, { alive: false })],
    ['when the listener does not see the namespace', record({}, { unseen: '' })],
    ['when the status is UNKNOWN', record({ status: 'UNKNOWN' })],
    [
      'while it is being deleted',
      record({ deleteRequestedAt: NOW, purgeAfter: new Date(NOW.getTime() + 60_000) }),
    ],
    ['after the end of the grace period', record({ deleteRequestedAt: NOW, purgeAfter: NOW })],
  ])('is UNKNOWN, not the last known state, %s', (_when, of) => {
    expect(shown(of)).toMatchObject([{ host: HOST, ...UNKNOWN }]);
  });
});
