/**
 * Writes the pictures of the documentation into docs/images, in both themes, from a real Berth:
 *
 *   BERTH_SCREENSHOTS=1 npx vitest run --project console
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { smallDeployment } from '../integration/harness/samples.ts';
import { describeConsole } from './harness/console.ts';

const FOLDER = fileURLToPath(new URL('../../docs/images', import.meta.url));
const WIDTH = 1180;
const HEIGHT = 640;
/** Nothing else runs beside the pictures, so only a busy machine needs this long. */
const WAIT_MS = 300_000;
const TIMEOUT_MS = 900_000;

async function picture(page: Page, name: string): Promise<void> {
  await page.setViewportSize({ width: WIDTH, height: HEIGHT });
  mkdirSync(FOLDER, { recursive: true });
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await page.screenshot({
      path: join(FOLDER, `console-${name}-${colorScheme}.png`),
      animations: 'disabled',
    });
  }
}

const image = (name: string, tag: string) => ({ image: `registry.example/shop/${name}:${tag}` });

describeConsole('screenshots', (world) => {
  const path = (id: string, tab = '') => world.pathOf(`/deployments/${id}${tab}`);

  test(
    'the pictures of the documentation',
    async () => {
      const names = ['shop-search', 'shop-mail', 'shop-checkout'];
      for (const name of names) {
        const { id } = await world.api.create(smallDeployment(name, image(name, '2.4.1')));
        await world.api.until(id, 'READY', ({ status }) => status === 'READY', WAIT_MS);
      }
      const type = { source_config: { deployment_type: 'prod', resource_spec: { min_scale: 2 } } };
      const { id } = await world.api.create(
        smallDeployment('shop-web', { ...type, ...image('web', '1.0.0') }),
      );
      await world.api.until(id, 'READY', ({ status }) => status === 'READY', WAIT_MS);
      const bad = { source_revision_config: { image_uri: 'registry.example/shop/web:fail-image-pull' } };
      await world.api.call('PATCH', `/v2/deployments/${id}`, bad);

      const page = await world.open({ path: path(id), width: WIDTH });
      const explanation = page.getByRole('region', { name: 'What happens' });
      await explanation.getByText('DEPLOY_FAILED').waitFor({ timeout: WAIT_MS });
      await picture(page, 'deployment');

      await page.goto(`${world.stack.url}/console${path(id, '/objects')}`);
      const map = page.getByRole('region', { name: 'Objects' });
      await map.locator('ul ul ul ul').getByRole('link').first().waitFor();
      await picture(page, 'objects');

      await page.goto(`${world.stack.url}/console${world.pathOf('/deployments?name_contains=shop-')}`);
      await expect.poll(() => page.getByRole('row', { name: /^shop-/ }).count()).toBe(names.length + 1);
      await picture(page, 'fleet');
    },
    TIMEOUT_MS,
  );
});
