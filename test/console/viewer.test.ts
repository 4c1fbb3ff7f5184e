import { expect, test } from 'vitest';
import { berthClient } from '../integration/harness/berth-setup.ts';
import { uniqueName } from '../integration/harness/namespaces.ts';
import { smallDeployment } from '../integration/harness/samples.ts';
import { checkPage, describeConsole } from './harness/console.ts';

describeConsole('a session that may only read', (world) => {
  test('sees no actions, and a text at their addresses', async () => {
    const admin = berthClient(world.stack.adminKey, () => world.stack.url);
    const created = await admin.call<{ key: string }>(
      'POST',
      '/v2/api-keys',
      { name: uniqueName('viewer'), scopes: ['deployments:read'] },
      { 'x-tenant-id': world.stack.tenantId },
    );
    const schedules = [{ name: 'yearly', schedule: '0 0 1 1 *', command: ['clean'], suspend: true }];
    const { id } = await world.api.create(smallDeployment('viewed-shop', { source_config: { schedules } }));
    const path = world.pathOf('/deployments');
    const page = await world.open({ path, apiKey: created.body.key });
    await page.getByRole('link', { name: 'viewed-shop' }).waitFor();
    expect(await page.getByRole('link', { name: 'Create' }).count()).toBe(0);
    await page.getByRole('link', { name: 'viewed-shop' }).click();
    await page.getByRole('heading', { name: 'Conditions' }).waitFor();
    for (const name of ['Scale', 'Delete', 'Restore'])
      expect(await page.getByRole('button', { name, exact: true }).count(), name).toBe(0);
    expect(await page.getByRole('link', { name: 'Edit' }).count()).toBe(0);

    const show = (address: string) => page.goto(`${world.stack.url}/console${world.pathOf(address)}`);
    await show(`/deployments/${id}/edit`);
    await page.getByText('You may not change this deployment').waitFor();
    expect(await page.getByRole('button', { name: 'Plan' }).count()).toBe(0);
    await checkPage(page);
    await show(`/deployments/${id}/tasks`);
    await page.getByText('No command was run yet').waitFor();
    await page
      .getByRole('row', { name: /yearly/ })
      .getByText('suspended', { exact: true })
      .waitFor();
    expect(await page.getByRole('button', { name: /^(Run|Suspend|Resume)/ }).count()).toBe(0);
    await show('/new');
    await page.getByText('You may not create deployments').waitFor();
    await checkPage(page);
    await show(`/deployments/${id}/revisions`);
    await page.getByRole('heading', { name: 'Revisions' }).waitFor();
    expect(await page.getByRole('button', { name: /^(Roll back|Redeploy)/ }).count()).toBe(0);
    await world.api.call('DELETE', `/v2/deployments/${id}`);
  });
});
