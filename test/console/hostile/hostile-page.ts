/** Pages of the console whose API is the stand-in with hostile answers. */
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import type { ConsoleWorld } from '../harness/console.ts';
import { type HostileApi, type Mode, standInForApi } from './hostile-api.ts';

/** Opens the first page of the console. */
export async function openHostile(
  world: ConsoleWorld,
  mode: Mode,
  expected?: RegExp,
): Promise<{ page: Page; api: HostileApi }> {
  const page = await world.open({
    path: '/',
    isSignedIn: false,
    ...(expected === undefined ? {} : { expected }),
  });
  await page.addInitScript('window.hostile = () => { window.hostileRan = true; }');
  const api = await standInForApi(page, world.stack.tenantId);
  api.mode = mode;
  await page.goto(`${world.stack.url}/console/`);
  return { page, api };
}

/** Opens a page of the console without loading it again, and waits until it shows what it requested. */
export async function show(page: Page, address: string): Promise<void> {
  await page.evaluate(`window.__TSR_ROUTER__.navigate({ href: ${JSON.stringify(address)} })`);
  await expect.poll(() => page.evaluate('window.__TSR_ROUTER__.state.status')).toBe('idle');
  await expect.poll(() => page.getByText(/^Loading/).count()).toBe(0);
}
