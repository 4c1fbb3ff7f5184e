import { afterAll, beforeAll, expect, test } from 'vitest';
import type { BerthProcess } from '../installation/berth-process.ts';
import { checkPage, describeConsole } from './harness/console.ts';
import { startOwnBerth } from './harness/own-berth.ts';

describeConsole('in the hosting mode cloud', (world) => {
  let berth: BerthProcess;
  let url = '';
  beforeAll(async () => {
    ({ berth, url } = await startOwnBerth(world.stack, 'cloud', { BERTH_HOSTING: 'cloud' }));
  });
  afterAll(() => berth?.stop());

  test('deployments are created from repositories and from images of the platform', async () => {
    const page = await world.open({ url, path: world.pathOf('/new') });
    const choices = page.getByLabel('source (required)').locator('option');
    await choices.first().waitFor({ state: 'attached' });
    expect(await choices.allTextContents()).toEqual(['Not set', 'internal_image']);
    await page.getByLabel('name (required)').fill('cloud-shop');
    await page.getByLabel('image_uri').fill('registry.example/shop/web:1.0.0');
    await page.getByRole('button', { name: 'Plan', exact: true }).click();
    await page
      .getByRole('region', { name: 'Plan' })
      .getByRole('row', { name: /internal_image/ })
      .waitFor();

    await page.getByRole('link', { name: 'From a repository' }).click();
    await page.getByLabel('repo_url').waitFor();
    await checkPage(page);
    await page.getByRole('link', { name: 'create an integration' }).click();
    await page.getByRole('dialog', { name: 'Leave without applying?' }).waitFor();
    await page.getByRole('button', { name: 'Leave', exact: true }).click();
    await page.getByRole('heading', { name: 'Integrations' }).waitFor();
  });
});
