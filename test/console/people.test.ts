import type { Server } from 'node:http';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePorts } from '../cluster/ports.ts';
import { waitFor } from '../cluster/wait.ts';
import { type BerthProcess, startOnPort } from '../installation/berth-process.ts';
import { berthClient } from '../integration/harness/berth-setup.ts';
import { startIdentityProvider, type TestProvider } from '../integration/harness/identity-provider.ts';
import { uniqueName } from '../integration/harness/namespaces.ts';
import { smallDeployment } from '../integration/harness/samples.ts';
import { checkPage, confirmIn, describeConsole } from './harness/console.ts';
import { signInSettings } from './harness/own-berth.ts';
import { startProxy } from './harness/proxy.ts';

/** People who sign in with a real identity provider, at two API replicas behind one address. */
describeConsole('people', (world) => {
  let provider: TestProvider;
  const replicas: BerthProcess[] = [];
  let proxy: Server;
  let url = '';
  const other = { id: '', name: uniqueName('other-team') };

  /** Calls the API with the key of the platform. */
  async function admin<T>(method: string, path: string, body?: unknown, tenantId?: string): Promise<T> {
    const client = berthClient(world.stack.adminKey, () => world.stack.url);
    const headers: Record<string, string> = tenantId === undefined ? {} : { 'x-tenant-id': tenantId };
    // A busy machine can answer 503.
    const { result } = await waitFor(
      `${method} ${path}`,
      async () => {
        const answer = await client.call<T>(method, path, body, headers);
        if (answer.status === 503) return undefined;
        expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
        return { result: answer.body };
      },
      { timeoutMs: 60_000 },
    );
    return result;
  }

  beforeAll(async () => {
    const [port = 0] = await freePorts(1);
    url = `http://localhost:${port}`;
    other.id = (await admin<{ id: string }>('POST', '/v2/tenants', { name: other.name })).id;
    provider = await startIdentityProvider(`${url}/v2/auth/callback`);
    const rule = (group: string, tenant: string, roles: string[]) => ({
      issuer: provider.issuer,
      group,
      tenant,
      roles,
    });
    const groups = [
      rule('both', world.stack.tenantId, ['deployer']),
      rule('both', other.id, ['viewer']),
      rule('other', other.id, ['viewer']),
    ];
    const settings = signInSettings(world.stack, { url, provider, groups });
    const { stateDir } = world.stack;
    replicas.push(
      ...(await Promise.all(
        ['people-1', 'people-2'].map((name) => startOnPort({ stateDir, role: 'api', name, settings })),
      )),
    );
    proxy = await startProxy({ port, targets: replicas.map((replica) => replica.url) });
  });
  afterAll(async () => {
    proxy?.closeAllConnections();
    proxy?.close();
    await Promise.all(replicas.map((replica) => replica.stop()));
    await provider?.stop();
  });

  async function signIn(path: string, person: TestProvider['person']): Promise<Page> {
    provider.person = person;
    const page = await world.open({ url, path, isSignedIn: false, expected: /status of 404/ });
    await page.getByRole('link', { name: /^Sign in with 127/ }).click();
    return page;
  }

  test('a person signs in, switches the tenant, and sees nothing of others', async () => {
    const [own, foreign] = [uniqueName('own'), uniqueName('foreign')];
    const { id: ownId } = await world.api.create(smallDeployment(own));
    const body = { ...smallDeployment(foreign), source_config: {} };
    const { id: foreignId } = await admin<{ id: string }>('POST', '/v2/deployments', body, other.id);

    const page = await signIn(world.pathOf('/deployments'), {
      sub: 'ada',
      email: 'ada@example.com',
      groups: ['both'],
    });
    await page.getByRole('link', { name: own }).waitFor();
    expect(page.url()).toBe(`${url}/console${world.pathOf('/deployments')}`);
    expect(await page.getByText(foreign).count()).toBe(0);
    await page.getByLabel('Tenant').selectOption({ label: other.name });
    await page.getByRole('link', { name: foreign }).waitFor();
    expect(await page.getByText(own).count()).toBe(0);
    await page.goto(`${url}/console/t/${other.id}/history`);
    await page.getByRole('link', { name: foreignId }).first().waitFor();
    expect(await page.getByText(ownId).count()).toBe(0);

    const outsider = await signIn(`/t/${other.id}/deployments`, {
      sub: 'eve',
      email: 'eve@example.com',
      groups: ['other'],
    });
    await outsider.getByRole('link', { name: foreign }).waitFor();
    for (const path of [
      '/deployments',
      `/deployments/${ownId}`,
      '/history',
      '/usage',
      '/platform',
      '/tokens',
    ]) {
      await outsider.goto(`${url}/console${world.pathOf(path)}`);
      await outsider.getByRole('alert').first().waitFor();
      expect(await outsider.getByText(own).count(), path).toBe(0);
    }
    await world.api.call('DELETE', `/v2/deployments/${ownId}`);
    await admin('DELETE', `/v2/deployments/${foreignId}?force=true`, undefined, other.id);
  });

  test('a person confirms the login of a machine, and revokes its token', async () => {
    const machine = uniqueName('laptop');
    const start = await fetch(`${url}/v2/auth/device`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ machine, tenant: world.stack.tenantId, role: 'viewer' }),
    });
    const login = (await start.json()) as { user_code: string; device_code: string };
    const page = await signIn('/', { sub: 'ada', email: 'ada@example.com', groups: ['both'] });
    await page.getByRole('heading', { name: 'Deployments', exact: true }).waitFor();
    await page.goto(`${url}/auth/device`);
    await page.getByLabel('Code').fill('BBBB-BBBB');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('alert').getByText('This code is not known').waitFor();
    await page.getByLabel('Code').fill(login.user_code.toLowerCase());
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText(machine).waitFor();
    expect(
      await page
        .getByLabel(/^Tenant and role/)
        .locator('option:checked')
        .textContent(),
    ).toContain('viewer');
    await checkPage(page);
    expect(page.url()).toBe(`${url}/console/device`);
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByText(/^Approved: .* is logged in/).waitFor();
    const token = await fetch(`${url}/v2/auth/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
        device_code: login.device_code,
      }),
    });
    const { access_token: secret } = (await token.json()) as { access_token: string };
    const useToken = async () =>
      (await fetch(`${url}/v2/usage`, { headers: { authorization: `Bearer ${secret}` } })).status;
    expect(await useToken()).toBe(200);

    await page.goto(`${url}/console${world.pathOf('/tokens')}`);
    const row = page.getByRole('row', { name: machine });
    await row.getByText('valid').waitFor();
    await checkPage(page);
    await row.getByRole('button', { name: `Revoke ${machine}` }).click();
    await confirmIn(page, 'Revoke the token');
    await row.waitFor({ state: 'detached' });
    expect(await useToken()).toBe(401);

    // The sign-out at one replica counts at the other one.
    await page.getByRole('button', { name: 'Account' }).click();
    await page.getByRole('button', { name: 'Sign out', exact: true }).click();
    await page.getByRole('heading', { name: 'Sign in to Berth' }).waitFor();
  });
});
