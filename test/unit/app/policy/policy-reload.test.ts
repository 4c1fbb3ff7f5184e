import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { loadPolicy } from '../../../../src/app/policy/policy-file.ts';
import { reloadPolicy } from '../../../../src/app/policy/policy-reload.ts';

const rule = (role: string) =>
  `access:\n  groups:\n    - { issuer: 'https://id.example.com', group: devs, tenant: shop, roles: [${role}] }\n`;

function start(text: string) {
  const policyFile = join(mkdtempSync(join(tmpdir(), 'berth-policy-')), 'policy.yaml');
  writeFileSync(policyFile, text);
  const config = { hosting: 'self_hosted' as const, policyFile };
  const logger = { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() };
  const onChange = vi.fn();
  const reload = reloadPolicy({ config, policy: loadPolicy(config), logger, onChange, everyMs: 10 });
  onTestFinished(() => reload.stop());
  return { ...reload, logger, onChange, write: (changed: string) => writeFileSync(policyFile, changed) };
}

test('applies changed roles without a restart', async () => {
  const policy = start(rule('viewer'));
  expect(policy.access().groups).toMatchObject([{ roles: ['viewer'] }]);
  policy.write(rule('admin'));
  await vi.waitFor(() => expect(policy.access().groups).toMatchObject([{ roles: ['admin'] }]));
  expect(policy.onChange).toHaveBeenCalledOnce();
});

test('keeps the former roles while the file is invalid, and reports it once', async () => {
  const policy = start(rule('viewer'));
  policy.write(rule('owner'));
  await vi.waitFor(() => expect(policy.isInvalid()).toBe(true));
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(policy.logger.error).toHaveBeenCalledOnce();
  expect(policy.access().groups).toMatchObject([{ roles: ['viewer'] }]);
  policy.write(rule('deployer'));
  await vi.waitFor(() => expect(policy.isInvalid()).toBe(false));
  expect(policy.access().groups).toMatchObject([{ roles: ['deployer'] }]);
});

test('names a restart when other entries change', async () => {
  const policy = start(rule('viewer'));
  policy.write(`${rule('viewer')}body_bytes: 2048\n`);
  await vi.waitFor(() =>
    expect(policy.logger.info).toHaveBeenCalledWith(
      expect.anything(),
      'the policy has changes that apply after a restart of Berth',
    ),
  );
  expect(policy.onChange).not.toHaveBeenCalled();
});
