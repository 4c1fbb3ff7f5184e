import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { smallDeployment } from '../integration/harness/samples.ts';
import { checkPage, describeConsole } from './harness/console.ts';

const rowOf = (page: Page, name: string) => page.getByRole('row', { name: new RegExp(`^${name}\\b`) });

describeConsole('fleet', (world) => {
  test('shows a deployment that is created elsewhere, and its way to READY', async () => {
    const page = await world.open({ path: world.pathOf('/deployments?name_contains=live-') });
    await page.getByText('No deployment matches these filters').waitFor();
    await checkPage(page);
    const { id } = await world.api.create(smallDeployment('live-shop'));
    await rowOf(page, 'live-shop').waitFor();
    await world.api.ready(id);
    await rowOf(page, 'live-shop').getByText('READY').waitFor();
    await checkPage(page);
    await world.api.call('DELETE', `/v2/deployments/${id}`);
    await rowOf(page, 'live-shop').waitFor({ state: 'detached' });
  });

  test('keeps its filters in the URL, and fits a phone', async () => {
    const page = await world.open({ path: world.pathOf('/deployments'), width: 360 });
    await page.getByLabel('Type').selectOption('prod');
    await page.getByLabel('Name contains').fill('a&b');
    await expect.poll(() => new URL(page.url()).search).toBe('?name_contains=a%26b&deployment_type=prod');
    await page.reload();
    expect(await page.getByLabel('Name contains').inputValue()).toBe('a&b');
    await checkPage(page);
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await expect.poll(() => new URL(page.url()).search).toBe('');
  });

  test('shows the commands of the list', async () => {
    const page = await world.open({ path: world.pathOf('/deployments?status=READY') });
    await page.getByRole('button', { name: 'Show command' }).click();
    const dialog = page.getByRole('dialog', { name: 'List these deployments' });
    await dialog.getByText('berth deployments list --status READY').waitFor();
    await dialog.getByRole('tab', { name: 'curl' }).click();
    await dialog.getByText('/v2/deployments?status=READY').waitFor();
    await checkPage(page);
    await page.evaluate('navigator.clipboard.writeText = () => Promise.reject(new Error("forbidden"))');
    await dialog.getByRole('button', { name: 'Copy' }).click();
    await dialog.getByText('Copying failed.').waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Show command');
  });

  test('tabs of a browser share one stream of changes', async () => {
    const page = await world.open({ path: world.pathOf('/deployments') });
    await page.getByRole('heading', { name: 'Deployments' }).waitFor();
    const other = await world.openTab(page, world.pathOf('/deployments?name_contains=shared-'));
    const streams: string[] = [];
    other.on('request', (request) => {
      if (request.url().endsWith('/v2/watch')) streams.push(request.url());
    });
    await other.getByText('No deployment matches these filters').waitFor();
    const { id } = await world.api.create(smallDeployment('shared-shop'));
    await rowOf(other, 'shared-shop').waitFor();
    expect(streams).toEqual([]);
    // The other tab takes over when the first one is closed.
    await page.close();
    await expect.poll(() => streams.length).toBe(1);
    await world.api.call('DELETE', `/v2/deployments/${id}`);
    await rowOf(other, 'shared-shop').waitFor({ state: 'detached' });
  });

  test('says that updates are interrupted, and marks states as the last known ones', async () => {
    const { id } = await world.api.create(smallDeployment('stale-shop'));
    await world.api.ready(id);
    const path = world.pathOf('/deployments?name_contains=stale-');
    const page = await world.open({ path, expected: /Failed to load resource/ });
    await rowOf(page, 'stale-shop').getByText('READY').waitFor();
    // A browser that is set offline keeps a stream that has begun, so the stream must not begin.
    await page.route(/\/v2\/watch/, (route) => route.abort());
    await page.reload();
    await page.getByText('Live updates are interrupted').waitFor();
    await rowOf(page, 'stale-shop').getByText('READY', { exact: true }).waitFor();
    await page.context().setOffline(true);
    await rowOf(page, 'stale-shop').getByText('last known: READY').waitFor();
    await checkPage(page);
    await page.context().setOffline(false);
    await page.unrouteAll();
    await rowOf(page, 'stale-shop').getByText('READY', { exact: true }).waitFor();
    await page.getByText('Live updates are interrupted').waitFor({ state: 'detached' });
    await world.api.call('DELETE', `/v2/deployments/${id}`);
  });

  test('the keyboard skips to the content, and the heading gets the focus after a navigation', async () => {
    const { id } = await world.api.create(smallDeployment('focus-shop'));
    const page = await world.open({ path: world.pathOf('/deployments?name_contains=focus-') });
    await rowOf(page, 'focus-shop').waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).toBe('main');
    await page.getByRole('link', { name: 'focus-shop' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'focus-shop' }).waitFor();
    await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('focus-shop');
    await world.api.call('DELETE', `/v2/deployments/${id}`);
  });

  test('keeps the chosen theme', async () => {
    const page = await world.open({ path: world.pathOf('/deployments') });
    await page.getByRole('button', { name: 'Account' }).click();
    await page.getByLabel('Theme').selectOption('dark');
    const scheme = () => page.evaluate('getComputedStyle(document.documentElement).colorScheme');
    expect(await scheme()).toBe('dark');
    await page.reload();
    await page.getByRole('heading', { name: 'Deployments' }).waitFor();
    expect(await scheme()).toBe('dark');
  });
});
