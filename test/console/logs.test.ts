import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type LogNode, startLogNode } from '../integration/harness/log-node.ts';
import { smallDeployment } from '../integration/harness/samples.ts';
import { checkPage, describeConsole } from './harness/console.ts';
import { makePrintingPod } from './harness/printing-pod.ts';

const ESC = '\u001b';
/** A line that a container may print, and that must be shown as text. */
const HOSTILE = `${ESC}]0;owned\u0007${ESC}[2J${ESC}[31mred${ESC}[0m <img src=x onerror="document.title='broken'">\u202eabc שלום 🚢 ${'x'.repeat(10_000)}`;

const linesOf = (page: Page) => page.getByRole('region', { name: 'Lines of the log' });

describeConsole('logs', (world) => {
  let node: LogNode;
  beforeAll(async () => {
    node = await startLogNode();
  });
  afterAll(() => node?.stop());

  /** A deployment with a pod in which only the test prints. */
  async function printing(name: string) {
    const { id, latest_revision_id: revisionId } = await world.api.create(smallDeployment(name));
    const { namespace } = world.stack;
    return { id, ...(await makePrintingPod(node, { name, deploymentId: id, revisionId, namespace })) };
  }

  test('follows pods, with filters in the URL, and continues after an interruption', async () => {
    const { id, pod, print } = await printing('tail-shop');
    print('first line');
    print('from the proxy', 'proxy');
    const path = world.pathOf(`/deployments/${id}/logs?component=queue`);
    // A listener that is busy answers late, and the page tries again.
    const page = await world.open({ path, expected: /status of 50[34]/ });
    const lines = linesOf(page);
    await lines.getByText('first line').waitFor();
    print(HOSTILE);
    await lines.getByText(/<img src=x/).waitFor();
    await lines.locator('span').filter({ hasText: /^red$/ }).first().waitFor();
    expect(await lines.locator('img, script').count()).toBe(0);
    await checkPage(page);
    expect(await page.title()).toBe('tail-shop – Berth');

    await page.getByLabel('Container').selectOption('proxy');
    await lines.getByText('first line').waitFor({ state: 'detached' });
    await lines.getByText('from the proxy').waitFor();
    await page.getByLabel('Container').selectOption('');
    await page.getByLabel('Contains').fill('FIRST');
    await page.getByText(/^1 of \d+ lines match/).waitFor();
    expect(new URL(page.url()).search).toBe('?component=queue&q=FIRST');
    await page.getByLabel('Contains').fill('');

    await page.getByRole('button', { name: 'Pause' }).click();
    print('while paused');
    await page.getByRole('button', { name: 'Follow (1 new)' }).click();
    await lines.getByText('while paused').waitFor();

    // The first answer is cut off after a line. The next one continues after this line.
    const cutOff = {
      at: new Date().toISOString(),
      component: 'queue',
      pod: pod.name,
      container: 'app',
      text: 'cut off',
    };
    const body = `${JSON.stringify(cutOff)}\n{"at":`;
    await page.route(/\/v2\/.*\/logs\?/, (route) =>
      route.request().url().includes('since=')
        ? route.continue()
        : route.fulfill({ contentType: 'application/x-ndjson', body }),
    );
    const next = page.waitForRequest(/\/v2\/.*\/logs\?.*since=/);
    await page.reload();
    await lines.getByText('cut off').waitFor();
    expect(new URL((await next).url()).searchParams.get('since')).toBe(cutOff.at);
    print('after the interruption');
    await lines.getByText('after the interruption').waitFor();
    await page.unrouteAll();

    await page.getByRole('button', { name: 'Show command' }).last().click();
    const dialog = page.getByRole('dialog', { name: 'Read these logs' });
    await dialog.getByText('berth logs tail-shop --component queue --follow').waitFor();
    await page.keyboard.press('Escape');

    node.crash(pod.namespace, pod.name, 'app');
    await node.set(pod, { app: 'runs again', proxy: 'runs' });
    await page.getByLabel('Run').selectOption('true');
    await page.getByText(/^The log ends: /).waitFor();
    await lines.getByText('after the interruption').waitFor();
    expect(new URL(page.url()).search).toBe('?component=queue&previous=true');
    await world.api.call('DELETE', `/v2/deployments/${id}`);
  });

  test('shows the log of a build, and an error with its request id', async () => {
    const { id, latest_revision_id: revisionId } = await world.api.create(smallDeployment('built-shop'));
    const query = `source=build&revision=${revisionId}`;
    const path = world.pathOf(`/deployments/${id}/logs?${query}`);
    const page = await world.open({ path, width: 360 });
    // The image of this deployment was not built, so the stored log is empty and complete.
    await page.getByText(/^The log ends: /).waitFor();
    await page.route(/\/build-logs\?follow=true$/, (route) => {
      const at = '2026-01-15T09:00:00.000Z';
      const items = [
        { at, attempt: 1, step: 'image', text: HOSTILE },
        { at, attempt: 2, step: 'image', text: 'built' },
        { end: 'The build has ended.', reason: 'complete' },
      ];
      const body = items.map((item) => `${JSON.stringify(item)}\n`).join('');
      return route.fulfill({ contentType: 'application/x-ndjson', body });
    });
    await page.getByRole('button', { name: 'Read again' }).click();
    await linesOf(page).getByText('attempt 2').waitFor();
    await page.getByText('The log ends: The build has ended.').waitFor();
    await checkPage(page);

    const unknown = '01890000-0000-7000-8000-000000000000';
    await page.goto(
      `${world.stack.url}/console${world.pathOf(`/deployments/${id}/logs?source=build&revision=${unknown}`)}`,
    );
    await page.unrouteAll();
    await page.reload();
    await page.getByRole('alert').getByText('Request id').waitFor();
    await world.api.call('DELETE', `/v2/deployments/${id}`);
  });
});
