import { expect, test } from 'vitest';
import { smallDeployment } from '../integration/harness/samples.ts';
import { checkPage, describeConsole } from './harness/console.ts';

describeConsole('deployment', (world) => {
  test('explains the state, and shows conditions, revisions and events', async () => {
    const { id } = await world.api.create(smallDeployment('page-shop'));
    const page = await world.open({ path: world.pathOf(`/deployments/${id}`) });
    await page.getByRole('heading', { name: 'page-shop' }).waitFor();
    await world.api.ready(id);
    await page.getByText('READY', { exact: true }).first().waitFor();
    await page.getByRole('region', { name: 'What happens' }).getByText('DEPLOYED', { exact: true }).waitFor();
    await page.getByRole('row', { name: /^Ready True/ }).waitFor();
    await checkPage(page);

    await page.getByRole('link', { name: 'Revisions' }).click();
    await page.getByRole('row', { name: /^1 \(active\)/ }).waitFor();
    await checkPage(page);

    await page.getByRole('link', { name: 'Events' }).click();
    await page.getByText('Created', { exact: true }).waitFor();
    await checkPage(page);
    expect(new URL(page.url()).pathname).toBe(`/console${world.pathOf(`/deployments/${id}/events`)}`);
    await world.api.call('DELETE', `/v2/deployments/${id}`);
  });

  test('follows a new revision', async () => {
    const { id } = await world.api.create(smallDeployment('next-shop'));
    const page = await world.open({ path: world.pathOf(`/deployments/${id}/revisions`), width: 360 });
    await page.getByRole('row', { name: /^1/ }).waitFor();
    const body = { source_revision_config: { image_uri: 'registry.example/shop/web:2.0.0' } };
    await world.api.call('PATCH', `/v2/deployments/${id}`, body);
    await page.getByRole('row', { name: /^2/ }).getByText('web:2.0.0').waitFor();
    await checkPage(page);
    await world.api.call('DELETE', `/v2/deployments/${id}`);
  });

  test('shows the problem with its request id when there is no such deployment', async () => {
    const unknown = '01890000-0000-7000-8000-000000000000';
    const page = await world.open({ path: world.pathOf(`/deployments/${unknown}`) });
    await page.getByRole('alert').getByText('Request id').waitFor();
    await checkPage(page);
  });
});
