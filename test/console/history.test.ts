import { expect, test } from 'vitest';
import { smallDeployment } from '../integration/harness/samples.ts';
import { checkPage, describeConsole } from './harness/console.ts';

describeConsole('history', (world) => {
  test('shows who did what, filters by the URL, and follows changes', async () => {
    const { id } = await world.api.create(smallDeployment('history-shop'));
    const page = await world.open({
      path: world.pathOf(`/history?deployment_id=${id}&reason=Created,Patched`),
      expected: /status of 422/,
    });
    await page
      .getByRole('row', { name: /Created/ })
      .getByText('test (API key)')
      .waitFor();
    await checkPage(page);
    const body = { source_revision_config: { image_uri: 'registry.example/shop/web:2.0.0' } };
    await world.api.call('PATCH', `/v2/deployments/${id}`, body);
    await page.getByRole('row', { name: /Patched/ }).waitFor();
    await page.getByLabel('Reasons, separated by commas').fill('Patched');
    await page.getByRole('row', { name: /Created/ }).waitFor({ state: 'detached' });
    expect(page.url()).toContain('reason=Patched');
    await page.getByLabel('Reasons, separated by commas').fill('Nonsense');
    await page.getByRole('alert').getByText('is not the reason of an event').waitFor();
    await world.api.call('DELETE', `/v2/deployments/${id}`);
  });

  test('shows the usage against the quotas', async () => {
    const page = await world.open({ path: world.pathOf('/usage'), width: 360 });
    await page.getByRole('row', { name: /^Deployments \d+ no limit no limit/ }).waitFor();
    await checkPage(page);
  });
});
