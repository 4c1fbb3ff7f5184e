import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { DEFAULT_POLICIES, policyFileSchema } from '../../../src/domain/policy/policy.ts';

const text = readFileSync(new URL('../../../docs/policy.md', import.meta.url), 'utf8');

test('docs/policy.md has a row for each entry', () => {
  for (const [name, entry] of Object.entries(DEFAULT_POLICIES.cloud)) {
    expect(text).toContain(`\`${name}`);
    if (typeof entry !== 'object' || Array.isArray(entry) || name === 'caps_by_type') continue;
    for (const part of Object.keys(entry))
      expect(text, `${name}.${part}`).toMatch(new RegExp(`\`(${name})?\\.${part}\``));
  }
});

test('docs/policy.md has the default caps', () => {
  const { cloud, self_hosted } = DEFAULT_POLICIES;
  for (const cap of [
    'scale',
    'storage_gi',
    'ephemeral_storage_gi',
    'db_connections',
    'containers',
    'volumes',
    'secrets',
  ] as const) {
    const row = text.split('\n').find((line) => line.startsWith(`| \`caps.${cap}\``));
    expect(row).toMatch(new RegExp(`\\| ${self_hosted.caps[cap]} \\| ${cloud.caps[cap]} \\|$`));
  }
});

test('docs/policy.md has the default tenant quotas and the default largest body', () => {
  const { cloud, self_hosted } = DEFAULT_POLICIES;
  const shown = (value: number | null) => (value === null ? 'any' : String(value));
  const rows = [
    ...(['deployments', 'cpu', 'memory_mb', 'storage_gi'] as const).map(
      (name) =>
        [`tenant_quotas.${name}`, self_hosted.tenant_quotas[name], cloud.tenant_quotas[name]] as const,
    ),
    ['body_bytes', self_hosted.body_bytes, cloud.body_bytes] as const,
  ];
  for (const [name, ours, theirs] of rows) {
    const row = text.split('\n').find((line) => line.startsWith(`| \`${name}\``));
    expect(row, name).toMatch(new RegExp(`\\| ${shown(ours)} \\| ${shown(theirs)} \\|$`));
  }
});

test('docs/policy.md has a row for the quota of GPUs, which has no default', () => {
  expect(text).toMatch(/^\| `tenant_quotas\.gpus` .*\| any \| any /m);
  for (const { tenant_quotas } of Object.values(DEFAULT_POLICIES))
    expect(tenant_quotas).not.toHaveProperty('gpus');
});

test('docs/policy.md has a row for the quota of domains, which has no default', () => {
  expect(text).toMatch(/^\| `tenant_quotas\.domains` .*\| any \| any /m);
  for (const { tenant_quotas } of Object.values(DEFAULT_POLICIES))
    expect(tenant_quotas).not.toHaveProperty('domains');
});

test('docs/policy.md has a valid policy file as its example', () => {
  const [, yaml = ''] = /```yaml\n(.*?)```/s.exec(text) ?? [];
  expect(policyFileSchema.safeParse(parse(yaml)).error).toBeUndefined();
});

test('docs/policy.md has the other defaults that are in force', () => {
  const { cloud, self_hosted } = DEFAULT_POLICIES;
  const cells = (entry: string) =>
    text
      .split('\n')
      .find((line) => line.startsWith(`| \`${entry}\``))
      ?.split(' | ')
      .slice(-2)
      .map((cell) => cell.replace(/ \|$/, ''));
  const gib = (mb: number) => (mb >= 1024 * 1024 ? `${mb / 1024 / 1024} TiB` : `${mb / 1024} GiB`);
  const both = (value: (policy: typeof cloud) => string) => [value(self_hosted), value(cloud)];
  expect(cells('pod_security')).toEqual(both(({ pod_security }) => `\`${pod_security}\``));
  const profiles = (policy: typeof cloud) => policy.security_profiles.map((name) => `\`${name}\``).join(', ');
  expect(cells('security_profiles')?.[0]).toBe(profiles(self_hosted));
  expect(cells('security_profiles')?.[1]).toMatch(new RegExp(`^${profiles(cloud)}\\.`));
  expect(cells('health_checks.exec')).toEqual(both(({ health_checks }) => `\`${health_checks.exec}\``));
  expect(cells('health_checks.min_period_seconds')).toEqual(
    both(({ health_checks }) => String(health_checks.min_period_seconds)),
  );
  expect(cells('placement.selector_keys')).toEqual(['any', 'none']);
  expect(both(({ placement }) => String(placement.selector_keys))).toEqual(['*', '']);
  expect(cells('placement.affinity')).toEqual(both(({ placement }) => `\`${placement.affinity}\``));
  expect(cells('placement.tolerations')).toEqual(['none', 'none']);
  expect(both(({ placement }) => String(placement.tolerations))).toEqual(['', '']);
  expect(cells('volumes.nfs')).toEqual(both(({ volumes }) => `\`${volumes.nfs && volumes.csi}\``));
  expect(cells('caps.cpu')).toEqual(both(({ caps }) => `${caps.cpu}, ${gib(caps.memory_mb)}`));
  expect(cells('caps.env_count')).toEqual(
    both(({ caps }) => `${caps.env_count}, ${caps.env_bytes / 1024} KiB`),
  );
  expect(cells('service_accounts.allowed')?.[1]).toBe('none');
  expect(cloud.service_accounts.allowed).toEqual([]);
  expect(cells('custom_url.allowed_hosts')?.[1]).toMatch(/^none/);
  expect(cloud.custom_url.allowed_hosts).toEqual([]);
  expect(cells('domains.allowed_hosts')).toEqual(['any', 'none']);
  expect(both(({ domains }) => String(domains.allowed_hosts))).toEqual(['*', '']);
  expect(cells('domains.require_proof')).toEqual(both(({ domains }) => `\`${domains.require_proof}\``));
  expect(cells('service_account_token_audiences')).toEqual(['none', 'none']);
  expect(both((policy) => String(policy.service_account_token_audiences))).toEqual(['', '']);
  expect(cells('metadata.refused_domains')).toEqual(['none', 'any']);
  expect(both(({ metadata }) => String(metadata.refused_domains))).toEqual(['', '*']);
  expect(cells('resources.allowed_extended')).toEqual(['any', 'none']);
  expect(both(({ resources }) => String(resources.allowed_extended))).toEqual(['*', '']);
  expect(cells('resources.default_limits')).toEqual(
    both(({ resources }) => `\`${resources.default_limits}\``),
  );
});

test('docs/policy.md has the default counts', () => {
  const { cloud, self_hosted } = DEFAULT_POLICIES;
  for (const name of ['tag_keys', 'integrations', 'tracing_projects', 'revision_secrets'] as const) {
    const row = text.split('\n').find((line) => line.startsWith(`| \`tenant_counts.${name}\``)) ?? '';
    const [ours, theirs] = row.split(' | ').slice(-2);
    expect([Number.parseInt(ours ?? '', 10), Number.parseInt(theirs ?? '', 10)], name).toEqual([
      self_hosted.tenant_counts[name],
      cloud.tenant_counts[name],
    ]);
  }
});
