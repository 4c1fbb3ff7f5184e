import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { smallDeployment } from '../integration/harness/samples.ts';
import { checkPage, describeConsole } from './harness/console.ts';

const TYPED = 'registry.example/shop/web:2.0.0';
const image = (page: Page) => page.getByLabel('image_uri');
const planButton = (page: Page) => page.getByRole('button', { name: 'Plan', exact: true });
const plan = (page: Page) => page.getByRole('region', { name: 'Plan' });
const applyButton = (page: Page) => plan(page).getByRole('button', { name: 'Apply' });
const progress = (page: Page) => page.getByRole('region', { name: 'Progress of the change' });

describeConsole('an edit that something interrupts', (world) => {
  /** Opens the edit of a new deployment. Requests of its own are answered with errors that the test expects. */
  async function open(name: string, secrets: object[] = []) {
    const { id } = await world.api.create(smallDeployment(name, { secrets }));
    const path = world.pathOf(`/deployments/${id}/edit`);
    const page = await world.open({ path, expected: /status of (409|412|422)|ERR_FAILED|MissingPart/ });
    await image(page).waitFor();
    return { id, page };
  }
  const remove = (id: string) => world.api.call('DELETE', `/v2/deployments/${id}`);

  /** Answers the next PATCH that contains a change. The others go to the API. */
  async function onNextPatch(page: Page, id: string, answer: Parameters<Page['route']>[1]): Promise<void> {
    let isAnswered = false;
    await page.route(new RegExp(`/v2/deployments/${id}(\\?|$)`), (route, request) => {
      if (request.method() !== 'PATCH' || request.postData() === '{}' || isAnswered) return route.fallback();
      isAnswered = true;
      return answer(route, request);
    });
  }

  test('by a change of someone else just before it is applied keeps what was typed', async () => {
    const { id, page } = await open('overtaken-shop');
    await image(page).fill(TYPED);
    await planButton(page).click();
    await applyButton(page).waitFor();
    await onNextPatch(page, id, async (route) => {
      const body = { source_config: { resource_spec: { min_scale: 2, max_scale: 2 } } };
      await world.api.call('PATCH', `/v2/deployments/${id}`, body);
      await route.continue();
    });
    const rejected = page.waitForResponse((response) => response.status() === 412);
    await applyButton(page).click();
    await rejected;
    const notice = page.getByRole('alert').filter({ hasText: 'The deployment was changed since you began' });
    await notice.getByRole('row', { name: /min_scale not set 2/ }).waitFor();
    await checkPage(page);
    await notice.getByRole('button', { name: 'Continue with my changes' }).click();
    expect(await image(page).inputValue()).toBe(TYPED);
    await planButton(page).click();
    await applyButton(page).click();
    await progress(page).waitFor();
    const { body } = await world.api.call<object>('GET', `/v2/deployments/${id}`);
    expect(body).toMatchObject({
      source_config: { resource_spec: { min_scale: 2 } },
      source_revision_config: { image_uri: TYPED },
    });
    await remove(id);
  });

  test('by the loss of the listener keeps what was typed, and claims no state', async () => {
    const { id, page } = await open('unseen-shop');
    await image(page).fill(TYPED);
    // What the API answers while no listener holds the lease.
    await page.route(new RegExp(`/v2/deployments/${id}$`), async (route, request) => {
      if (request.method() !== 'GET') return route.fallback();
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), status: 'UNKNOWN' } });
    });
    await onNextPatch(page, id, (route) =>
      route.fulfill({ status: 409, json: { detail: 'The deployment is busy.' } }),
    );
    await planButton(page).click();
    await page.getByRole('alert').getByText('The deployment is busy.').waitFor();
    await page.getByText('UNKNOWN', { exact: true }).waitFor();
    expect(await image(page).inputValue()).toBe(TYPED);
    await planButton(page).click();
    await applyButton(page).click();
    await progress(page).getByText('Not known').waitFor();
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await remove(id);
  });

  test('by errors of lists, maps and secrets leads to their inputs', async () => {
    const { id, page } = await open('errors-shop', [{ name: 'TOKEN', value: 'a-value' }]);
    await page.getByRole('button', { name: 'Add a secret' }).click();
    await page.getByLabel('Name of secret 2').fill('OTHER');
    const spec = ['body', 'source_config', 'resource_spec'];
    const errors = [
      [...spec, 'labels'],
      [...spec, 'sidecars'],
      ['body', 'secrets', 0, 'value'],
      ['body', 'secrets', 1, 'value'],
      ['body', 'source_config', 'resource_spec', 'image_pull_secrets', 3, 'name'],
    ];
    await onNextPatch(page, id, (route) =>
      route.fulfill({ status: 422, json: { detail: errors.map((loc) => ({ loc, msg: 'is wrong' })) } }),
    );
    await planButton(page).click();
    const summary = page.getByRole('alert');
    await summary.getByText('5 fields were rejected').waitFor();
    // A part that was closed again is opened.
    await page
      .locator('summary')
      .filter({ hasText: /^resource_spec/ })
      .click();
    const focused = async (field: string) => {
      await summary.getByRole('button', { name: `Go to ${field}`, exact: true }).click();
      return page.evaluate('document.activeElement.id');
    };
    const prefix = 'source_config.resource_spec';
    expect(await focused(`${prefix}.labels`)).toBe(`field-${prefix}.labels`);
    expect(await focused(`${prefix}.sidecars`)).toBe(`field-${prefix}.sidecars`);
    expect(await focused('secrets.0.value')).toBe('field-secrets.0');
    expect(await focused('secrets.1.value')).toBe('field-secrets.1.value');
    expect(await focused(`${prefix}.image_pull_secrets.3.name`)).toBe(`field-${prefix}.image_pull_secrets`);
    await checkPage(page);
    await page.getByRole('button', { name: 'Discard changes' }).click();
    await remove(id);
  });

  test('by an upgrade of the API does not load the page again before the person leaves it', async () => {
    const { id, page } = await open('upgraded-shop');
    await image(page).fill(TYPED);
    const missing = /\/console\/assets\/(events-tab|scale-dialog)[^/]*\.js$/;
    await page.route(missing, (route) => route.abort());
    const events = page.getByRole('link', { name: 'Events' });
    const failed = page.waitForEvent('requestfailed');
    await events.hover();
    await failed;
    await page.getByRole('button', { name: 'Scale' }).click();
    await page.getByRole('alert').getByText('A part of the console could not be loaded').waitFor();
    expect(await image(page).inputValue()).toBe(TYPED);
    await page.evaluate('window.isFirstPage = true');
    await events.click();
    await page.getByRole('button', { name: 'Leave', exact: true }).click();
    // The new page finds the file.
    const loaded = page.waitForEvent('load');
    await page.unroute(missing);
    await loaded;
    await page.getByRole('heading', { name: 'Events' }).waitFor();
    expect(await page.evaluate('window.isFirstPage')).toBeUndefined();
    await remove(id);
  });
});
