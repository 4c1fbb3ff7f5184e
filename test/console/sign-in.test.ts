import { expect, test } from 'vitest';
import { checkPage, describeConsole, signInWithKey } from './harness/console.ts';

describeConsole('sign-in', (world) => {
  test('an API key opens the page of the URL, and a wrong key shows the request id', async () => {
    const path = world.pathOf('/deployments?status=READY');
    const page = await world.open({ path, isSignedIn: false });
    await page.getByRole('heading', { name: 'Sign in to Berth' }).waitFor();
    await checkPage(page);
    await signInWithKey(page, 'wrong');
    const alert = page.getByRole('alert');
    await alert.getByText('The API key is not valid.').waitFor();
    expect(await alert.locator('code').textContent()).toMatch(/^[\w-]{8,}$/);
    await signInWithKey(page, world.stack.apiKey);
    await page.getByRole('heading', { name: 'Deployments' }).waitFor();
    expect(page.url()).toBe(`${world.stack.url}/console${path}`);
  });

  test('an identity provider without a role for the person leads to a page with the reason', async () => {
    const page = await world.open({ isSignedIn: false, expected: /status of 403/ });
    await page.getByRole('link', { name: /^Sign in with 127/ }).click();
    await page.getByText('has no role in Berth').waitFor();
  });

  test('/ leads to the fleet of a tenant', async () => {
    const page = await world.open();
    await page.goto(`${world.stack.url}/`);
    await page.getByRole('heading', { name: 'Deployments' }).waitFor();
    expect(page.url()).toBe(`${world.stack.url}/console${world.pathOf('/deployments')}`);
  });

  test('a session that ends leaves the page open, and signing in again continues it', async () => {
    const page = await world.open({ path: world.pathOf('/deployments') });
    await page.getByLabel('Name contains').fill('typed');
    await expect.poll(() => page.url()).toContain('name_contains=typed');
    await page.context().clearCookies();
    await page.getByLabel('Status').selectOption('READY');
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
    await dialog.waitFor();
    await checkPage(page);
    await signInWithKey(page, world.stack.apiKey);
    await dialog.waitFor({ state: 'detached' });
    expect(await page.getByLabel('Name contains').inputValue()).toBe('typed');
    expect(page.url()).toContain('status=READY');
  });

  test('signing out leads to the sign-in, in other tabs too', async () => {
    const page = await world.open({ path: world.pathOf('/deployments') });
    const other = await world.openTab(page, world.pathOf('/deployments'));
    await other.getByRole('heading', { name: 'Deployments' }).waitFor();
    await page.getByRole('button', { name: 'Account' }).click();
    await page.getByRole('dialog', { name: 'Account' }).waitFor();
    await checkPage(page);
    await page.getByRole('button', { name: 'Sign out', exact: true }).click();
    await page.getByRole('heading', { name: 'Sign in to Berth' }).waitFor();
    await other.getByRole('dialog', { name: 'Your session has ended' }).waitFor();
  });
});
