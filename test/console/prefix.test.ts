import type { Server } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePorts } from '../cluster/ports.ts';
import { type BerthProcess, startOnPort } from '../installation/berth-process.ts';
import { startIdentityProvider, type TestProvider } from '../integration/harness/identity-provider.ts';
import { describeConsole, signInWithKey } from './harness/console.ts';
import { signInSettings } from './harness/own-berth.ts';
import { startProxy } from './harness/proxy.ts';

const PREFIX = '/tools/berth';

describeConsole('behind a path prefix', (world) => {
  let berth: BerthProcess;
  let proxy: Server;
  let url = '';
  let provider: TestProvider;
  beforeAll(async () => {
    const [port = 0] = await freePorts(1);
    url = `http://localhost:${port}${PREFIX}`;
    provider = await startIdentityProvider(`${url}/v2/auth/callback`);
    const groups = [
      { issuer: provider.issuer, group: 'shop', tenant: world.stack.tenantId, roles: ['viewer'] },
    ];
    const settings = signInSettings(world.stack, { url, provider, groups });
    berth = await startOnPort({ stateDir: world.stack.stateDir, role: 'api', name: 'prefixed', settings });
    proxy = await startProxy({ port, prefix: PREFIX, targets: [berth.url] });
  });
  afterAll(async () => {
    proxy?.closeAllConnections();
    proxy?.close();
    await berth?.stop();
    await provider?.stop();
  });

  test('deep links work, and a second API process shows the same deployments', async () => {
    const page = await world.open({ url, path: world.pathOf('/deployments?status=UNUSED') });
    await page.getByText('No deployment matches these filters').waitFor();
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await page.getByRole('link', { name: 'Berth' }).click();
    await expect.poll(() => page.url()).toBe(`${url}/console${world.pathOf('/deployments')}`);
    await page.goto(`${url}/`);
    await expect.poll(() => page.url()).toContain(`${url}/console/t/`);
  });

  test('people sign in with a key or with the identity provider, and get the page that they opened', async () => {
    const path = world.pathOf('/usage');
    const page = await world.open({ url, path, isSignedIn: false });
    await signInWithKey(page, world.stack.apiKey);
    await page.getByRole('heading', { name: 'Usage' }).waitFor();
    expect(page.url()).toBe(`${url}/console${path}`);

    provider.person = { sub: 'ada', email: 'ada@example.com', groups: ['shop'] };
    const other = await world.open({ url, path, isSignedIn: false });
    await other.getByRole('link', { name: /^Sign in with 127/ }).click();
    await other.getByRole('heading', { name: 'Usage' }).waitFor();
    expect(other.url()).toBe(`${url}/console${path}`);
  });
});
