import { expect, test } from 'vitest';
import { uniqueName } from '../integration/harness/namespaces.ts';
import { checkPage, confirmIn, describeConsole } from './harness/console.ts';

describeConsole('platform', (world) => {
  const openAdmin = (path: string) => world.open({ path: world.pathOf(path), apiKey: world.stack.adminKey });

  test('shows the listener of the platform with its lease, and creates and deletes a listener', async () => {
    const page = await openAdmin('/platform');
    const own = page.getByRole('row', { name: /\(platform\)/ });
    await own.getByText('CONNECTED').waitFor();
    await checkPage(page);
    const name = uniqueName('edge');
    await page.getByRole('button', { name: 'Create a listener' }).click();
    await page.getByLabel('Name of the cluster').fill(name);
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    const row = page.getByRole('row', { name });
    await row.getByText('NEVER_SEEN').waitFor();
    await row.getByText('No listener has taken the lease yet.').waitFor();
    await row.getByRole('button', { name: `Delete ${name}` }).click();
    await checkPage(page);
    await confirmIn(page, 'Delete the listener');
    await row.waitFor({ state: 'detached' });
  });

  test('shows a created key once, and revokes it', async () => {
    const page = await openAdmin('/platform/keys');
    const name = uniqueName('pipeline');
    await page.getByRole('button', { name: 'Create an API key' }).click();
    await page.getByLabel('Name').fill(name);
    await checkPage(page);
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    const secret = page.getByRole('region', { name: 'The API key' }).locator('pre');
    const key = (await secret.textContent()) ?? '';
    expect(key.length).toBeGreaterThan(30);
    await page.getByRole('button', { name: 'Close' }).click();
    await secret.waitFor({ state: 'detached' });
    expect(await page.content()).not.toContain(key);
    const row = page.getByRole('row', { name });
    await row.getByText('valid').waitFor();
    await checkPage(page);
    await row.getByRole('button', { name: `Revoke ${name}` }).click();
    await confirmIn(page, 'Revoke the key');
    await row.getByText('revoked').waitFor();
    await page.getByRole('link', { name: 'Show the keys of the platform' }).click();
    await page.getByRole('row', { name: 'admin of the tests' }).waitFor();
    expect(page.url()).toContain('owner=platform');
  });

  test('creates a tenant, sets its quotas, shows them as usage, and deletes it', async () => {
    const page = await openAdmin('/platform/tenants');
    const name = uniqueName('team');
    await page.getByRole('button', { name: 'Create a tenant' }).click();
    await page.getByLabel('Name').fill(name);
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    const row = page.getByRole('row', { name });
    await row.getByRole('button', { name: `Quotas of ${name}` }).click();
    await page.getByLabel('Deployments').fill('many');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('alert').getByText('Deployments must be a number').waitFor();
    await page.getByLabel('Deployments').fill('7');
    await checkPage(page);
    await confirmIn(page, 'Save');
    await row.getByText('Deployments: 7').waitFor();
    await checkPage(page);
    await row.getByRole('link', { name }).click();
    await page.getByRole('row', { name: 'Deployments 0 7 0 % used' }).waitFor();
    expect(await page.getByLabel('Tenant').locator('option:checked').textContent()).toBe(name);
    await checkPage(page);
    await page.goBack();
    await row.getByRole('button', { name: `Delete ${name}` }).click();
    await page.getByLabel('Type the name of the tenant to confirm').fill(name);
    await confirmIn(page, 'Delete the tenant');
    await row.waitFor({ state: 'detached' });
  });

  test('creates an integration without showing its token, and a webhook secret once', async () => {
    const page = await openAdmin('/platform/integrations');
    const name = uniqueName('git');
    await page.getByRole('button', { name: 'Create an integration' }).click();
    await page.getByLabel('Name').fill(name);
    await page.getByLabel('Token').fill('token-of-the-console-test');
    await checkPage(page);
    await page.getByRole('button', { name: 'Show command' }).last().click();
    const command = page.getByRole('dialog', { name: 'Create the integration' });
    await command.getByRole('tab', { name: 'curl' }).click();
    expect(await command.textContent()).toContain('"token":"TOKEN"');
    expect(await command.textContent()).not.toContain('token-of-the-console-test');
    await page.getByRole('button', { name: 'Close' }).last().click();
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    const row = page.getByRole('row', { name });
    await row.getByText('rejected: no secret').waitFor();
    await row.getByRole('button', { name: `Create a webhook secret for ${name}` }).click();
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('region', { name: 'The webhook secret' }).locator('pre').waitFor();
    await page.getByRole('button', { name: 'Close' }).click();
    await row.getByText('accepted').waitFor();
    await checkPage(page);
    await row.getByRole('button', { name: `Delete ${name}` }).click();
    await confirmIn(page, 'Delete the integration');
    await row.waitFor({ state: 'detached' });
  });

  test('shows the effective policy, and hides pages and actions without a scope', async () => {
    const page = await world.open({ path: world.pathOf('/platform/policy'), width: 360 });
    await page.getByRole('row', { name: 'pod_security baseline' }).waitFor();
    await checkPage(page);
    expect(await page.getByRole('link', { name: 'API keys' }).count()).toBe(0);
    expect(await page.getByRole('row', { name: /^access/ }).count()).toBe(0);
    await page.getByRole('link', { name: 'Listeners' }).click();
    await page.getByRole('row', { name: /\(platform\)/ }).waitFor();
    expect(await page.getByRole('button', { name: /^Forget the cluster/ }).count()).toBe(0);
  });
});
