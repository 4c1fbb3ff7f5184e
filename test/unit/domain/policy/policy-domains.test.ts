import { describe, expect, test } from 'vitest';
import type { SourceConfig } from '../../../../src/domain/deployment/deployment.ts';
import type { HostingMode } from '../../../../src/domain/deployment/source.ts';
import { type PolicyFile, resolvePolicy } from '../../../../src/domain/policy/policy.ts';
import { policyViolations } from '../../../../src/domain/policy/policy-rules.ts';
import { demandOf, quotaIssues, usageOf } from '../../../../src/domain/policy/quota-usage.ts';

const config = (domains: string[], custom_url: string | null = null) =>
  ({ deployment_type: null, custom_url, resource_spec: null, domains }) as unknown as SourceConfig;

interface Case {
  hosting?: HostingMode;
  file?: PolicyFile;
  stored?: string[];
  url?: string;
}

/** The rejected items, with the messages. */
function refused(
  domains: string[],
  { hosting = 'self_hosted', file = {}, stored, url }: Case = {},
): string[] {
  const input = {
    sourceConfig: config(domains, url ?? null),
    ...(stored === undefined ? {} : { stored: config(stored) }),
    secrets: [],
    appName: 'shop-0a1b2c3d',
    serverUrl: null,
    ownHost: 'berth.example.com',
    platformHosts: ['registry.example.com'],
    appDomain: 'apps.example.com',
  };
  return policyViolations(input, resolvePolicy(hosting, file)).map(
    ({ loc, msg, type }) => `${type} ${loc.join('.')} ${msg}`,
  );
}

const at = (index: number, text: string) => `policy_domain source_config.domains.${index} ${text}`;

describe('the policy of domains', () => {
  test('allows any host in self_hosted, and none in cloud', () => {
    expect(refused(['shop.example.org', 'a.b.example.com'])).toEqual([]);
    expect(refused(['shop.example.org'], { hosting: 'cloud' })).toEqual([
      at(0, 'must not be set, because the policy allows no additional hosts'),
    ]);
  });

  test.each([
    ['berth.example.com', "must not be the platform's own host"],
    ['registry.example.com', "must not be the platform's own host"],
    ['apps.example.com', "must not be in the platform's domain apps.example.com"],
    ['another-0a1b2c3d.apps.example.com', "must not be in the platform's domain apps.example.com"],
  ])('never allows %s', (host, message) => {
    expect(refused(['shop.example.org', host], { file: { domains: { allowed_hosts: ['*'] } } })).toEqual([
      at(1, message),
    ]);
  });

  test('allows the patterns of allowed_hosts without those of refused_hosts', () => {
    const file = { domains: { allowed_hosts: ['*.example.org'], refused_hosts: ['admin.*'] } };
    expect(refused(['shop.example.org'], { hosting: 'cloud', file })).toEqual([]);
    expect(refused(['admin.example.org', 'example.net'], { hosting: 'cloud', file })).toEqual([
      at(0, 'is a host that the policy does not allow'),
      at(1, 'is a host that the policy does not allow'),
    ]);
  });

  test('refuses the hosts that custom_url may not have', () => {
    const file = {
      custom_url: { refused_hosts: ['Console.*'] },
      domains: { allowed_hosts: ['*.example.org'], refused_hosts: ['admin.*'] },
    };
    for (const hosting of ['self_hosted', 'cloud'] as const)
      expect(refused(['console.example.org', 'shop.example.org'], { hosting, file })).toEqual([
        at(0, 'is a host that the policy does not allow'),
      ]);
  });

  test('allows the hosts of custom_url in self_hosted when a file limits only custom_url', () => {
    const file = { custom_url: { allowed_hosts: ['*.example.org'] } };
    expect(refused(['shop.example.org', 'shop.example.net'], { file })).toEqual([
      at(1, 'is a host that the policy does not allow'),
    ]);
    expect(refused(['shop.example.org'], { hosting: 'cloud', file })).toHaveLength(1);
    expect(refused(['shop.example.net'], { file: { ...file, domains: { allowed_hosts: ['*'] } } })).toEqual(
      [],
    );
  });

  test('does not affect stored hosts, and a deployment cannot have the host of its custom_url twice', () => {
    const file = { domains: { allowed_hosts: [] } };
    expect(refused(['shop.example.org', 'new.example.org'], { file, stored: ['shop.example.org'] })).toEqual([
      at(1, 'must not be set, because the policy allows no additional hosts'),
    ]);
    expect(refused(['shop.example.org'], { url: 'https://shop.example.org/path' })).toEqual([
      at(0, 'must not be the host of custom_url'),
    ]);
  });

  test('asks for proof by default only in cloud, also when a file allows hosts', () => {
    expect(resolvePolicy('self_hosted').domains.require_proof).toBe(false);
    expect(resolvePolicy('cloud', { domains: { allowed_hosts: ['*'] } }).domains.require_proof).toBe(true);
  });
});

describe('the quota of domains', () => {
  const EXTERNAL = { database: false, cache: false };
  const usage = (hosts: number, deployments = 1) => ({
    deployments,
    beingDeleted: 0,
    cpuM: 0,
    memoryMb: 0,
    storageGi: 0,
    domains: hosts,
  });
  const quotas = { deployments: null, cpu: null, memory_mb: null, storage_gi: null, domains: 3 };
  const demand = (domains: string[], spec = {}) =>
    demandOf({ ...config(domains), resource_spec: spec } as SourceConfig, EXTERNAL);

  test('counts hosts also while the deployment is switched off, and is absent without hosts', () => {
    expect(usageOf(demand(['a.example.com', 'b.example.com'])).domains).toBe(2);
    expect(usageOf(demand(['a.example.com'], { max_scale: 0 })).domains).toBe(1);
    expect(usageOf(demand([]))).not.toHaveProperty('domains');
  });

  test('names the field when a tenant would exceed it, and allows fewer hosts than before', () => {
    const asked = (before: number, domains: string[]) =>
      quotaIssues({ quotas, others: usage(2), before: usage(before), demand: demand(domains) });
    expect(asked(0, ['a.example.com'])).toEqual([]);
    expect(asked(0, ['a.example.com', 'b.example.com'])).toEqual([
      {
        loc: ['source_config', 'domains'],
        msg: 'the tenant would use 4 of 3 additional hosts: 2 by other deployments, 2 by this deployment',
        type: 'quota_domains',
      },
    ]);
    expect(asked(3, ['a.example.com', 'b.example.com'])).toEqual([]);
  });
});
