import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { BerthProcess } from '../installation/berth-process.ts';
import { berthClient } from '../integration/harness/berth-setup.ts';
import { type LogNode, startLogNode } from '../integration/harness/log-node.ts';
import { smallDeployment } from '../integration/harness/samples.ts';
import { checkPage, describeConsole } from './harness/console.ts';
import { startOwnBerth } from './harness/own-berth.ts';
import { makePrintingPod } from './harness/printing-pod.ts';

const GOOD = 'registry.example/main/web:1.0.0';
/** The simulated nodes report that its name is invalid, which fails at once. */
const BAD = 'registry.example/main/web:fail-invalid-image';

const progress = (page: Page) => page.getByRole('region', { name: 'Progress of the change' });
const plan = (page: Page) => page.getByRole('region', { name: 'Plan' });

/** Plans what was typed, waits for a text of the plan, and applies it. */
async function planAndApply(page: Page, text: RegExp): Promise<void> {
  await page.getByRole('button', { name: 'Plan' }).click();
  await plan(page).getByText(text).first().waitFor();
  await plan(page)
    .getByRole('button', { name: /^(Apply|Create)$/ })
    .click();
}

describeConsole('the main job without a terminal', (world) => {
  let berth: BerthProcess;
  let node: LogNode;
  let url = '';
  beforeAll(async () => {
    node = await startLogNode();
    ({ berth, url } = await startOwnBerth(world.stack, 'grace', { BERTH_DELETION_GRACE: '3600' }));
  });
  afterAll(async () => {
    await berth?.stop();
    await node?.stop();
  });

  test('creates, scales, breaks, repairs, deletes and restores a deployment, and reads its logs', async () => {
    // A listener that is busy answers late, and the page of the logs tries again.
    const page = await world.open({ url, path: world.pathOf('/deployments'), expected: /status of 50[34]/ });
    await page.getByRole('link', { name: 'Create' }).click();
    await page.getByRole('heading', { name: 'Create a deployment' }).waitFor();
    await page.getByLabel('name (required)').fill('main-shop');
    await page.getByLabel('image_uri').fill(GOOD);
    await planAndApply(page, /Deployment/);
    await page.getByRole('heading', { name: 'main-shop' }).waitFor();
    await progress(page).getByText('READY: the cluster runs').waitFor();

    await page.getByRole('button', { name: 'Scale' }).click();
    await page.getByLabel('Minimum of api').fill('2');
    await page.getByLabel('Maximum of api').fill('3');
    await page.getByRole('button', { name: 'Plan' }).click();
    await plan(page)
      .getByRole('row', { name: /max_scale/ })
      .getByText('3')
      .waitFor();
    await plan(page).getByRole('button', { name: 'Apply' }).click();
    await progress(page).getByText('READY: the cluster runs').waitFor();

    await page.getByRole('link', { name: 'Edit' }).click();
    await page.getByLabel('image_uri').fill(BAD);
    await planAndApply(page, /Pods are replaced: api/);
    await progress(page).getByText('The former revision still serves').waitFor();
    const explanation = page.getByRole('region', { name: 'What happens' });
    await expect.poll(() => explanation.innerText()).toContain('parse image name');
    await page.getByText('READY', { exact: true }).first().waitFor();

    await progress(page).getByRole('link', { name: 'Edit again' }).click();
    await page.getByLabel('image_uri').fill('registry.example/main/web:1.0.1');
    await planAndApply(page, /Pods are replaced: api/);
    await progress(page).getByText('READY: the cluster runs').waitFor();

    const id = new URL(page.url()).pathname.split('/').at(-1) ?? '';
    const { body } = await world.api.call<{ latest_revision_id: string }>('GET', `/v2/deployments/${id}`);
    const { print } = await makePrintingPod(node, {
      name: 'main-shop',
      deploymentId: id,
      revisionId: body.latest_revision_id,
      namespace: world.stack.namespace,
    });
    print('the shop is open');
    await page.getByRole('link', { name: 'Logs' }).click();
    await page.getByLabel('Component', { exact: true }).selectOption('queue');
    await page.getByRole('region', { name: 'Lines of the log' }).getByText('the shop is open').waitFor();

    await page.getByRole('button', { name: 'Delete' }).click();
    const dialog = page.getByRole('dialog', { name: 'Delete this deployment' });
    await dialog.getByLabel('Type the name').fill('main-shop');
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.getByText('AWAITING_DELETE', { exact: true }).first().waitFor();
    await page.getByRole('button', { name: 'Restore' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Restore' }).click();
    await progress(page).getByText('READY: the cluster runs').waitFor();
    await world.api.call('DELETE', `/v2/deployments/${id}`);
    expect(page.url()).toContain('follow=');
  });

  test('a deletion by someone else during an edit keeps what was typed, and says why nothing is planned', async () => {
    const { id } = await world.api.create(smallDeployment('removed-shop'));
    const path = world.pathOf(`/deployments/${id}/edit`);
    const page = await world.open({ url, path, expected: /status of 409/ });
    await page.getByLabel('image_uri').fill(BAD);
    await berthClient(world.stack.apiKey, () => url).call('DELETE', `/v2/deployments/${id}`);
    await page.getByText('The deployment is being deleted. Restore it before you change it.').waitFor();
    await page.getByRole('button', { name: 'Continue with my changes' }).click();
    const rejected = page.waitForResponse((response) => response.status() === 409);
    await page.getByRole('button', { name: 'Plan', exact: true }).click();
    await rejected;
    await page.getByRole('alert').getByText('Request id').waitFor();
    expect(await page.getByLabel('image_uri').inputValue()).toBe(BAD);
    await world.api.call('DELETE', `/v2/deployments/${id}`);
  });

  test('the pages and dialogs of actions have no violations', async () => {
    const { id } = await world.api.create(smallDeployment('dialog-shop'));
    await world.api.ready(id);
    const page = await world.open({ url, path: world.pathOf(`/deployments/${id}?follow=1`) });
    await progress(page).getByText('READY: the cluster runs').waitFor();
    await checkPage(page);
    await page.getByRole('button', { name: 'Scale' }).click();
    await page.getByLabel('Maximum of api').fill('3');
    await page.getByRole('button', { name: 'Plan' }).click();
    await plan(page)
      .getByRole('row', { name: /max_scale/ })
      .waitFor();
    await checkPage(page);
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Delete' }).click();
    const dialog = page.getByRole('dialog', { name: 'Delete this deployment' });
    await dialog.getByLabel('Type the name').fill('dialog-shop');
    await checkPage(page);
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Restore' }).click();
    await checkPage(page);
    await world.api.call('DELETE', `/v2/deployments/${id}`);
  });

  test('the form of a new deployment has no violations', async () => {
    const page = await world.open({ url, path: world.pathOf('/new') });
    await page.getByLabel('name (required)').waitFor();
    await checkPage(page);
  });
});
