import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { smallDeployment } from '../integration/harness/samples.ts';
import { checkPage, describeConsole, signInWithKey } from './harness/console.ts';

const plan = (page: Page) => page.getByRole('region', { name: 'Plan' });
const image = (page: Page) => page.getByLabel('image_uri');
const planButton = (page: Page) => page.getByRole('button', { name: 'Plan', exact: true });

describeConsole('edit', (world) => {
  const open = async (name: string, more: { secrets?: object[]; expected?: RegExp } = {}) => {
    const { expected, ...body } = more;
    const { id } = await world.api.create(smallDeployment(name, body));
    const path = world.pathOf(`/deployments/${id}/edit`);
    const page = await world.open({ path, ...(expected === undefined ? {} : { expected }) });
    await image(page).waitFor();
    return { page, id };
  };
  const remove = (id: string) => world.api.call('DELETE', `/v2/deployments/${id}`);

  test('the form and the YAML are the same document, with errors at the fields', async () => {
    const { page, id } = await open('form-shop', { expected: /status of 422/ });
    await page.getByText('source_config', { exact: true }).click();
    await page.getByText('resource_spec', { exact: true }).click();
    await page.getByLabel('cpu', { exact: true }).fill('0.3');
    await page.getByLabel('memory_mb', { exact: true }).fill('0');
    await checkPage(page);
    await planButton(page).click();
    await page.getByRole('alert').getByText('source_config.resource_spec.memory_mb').first().waitFor();
    expect(await page.getByLabel('memory_mb', { exact: true }).getAttribute('aria-invalid')).toBe('true');
    await checkPage(page);

    await page.getByRole('button', { name: 'YAML' }).click();
    const yaml = page.getByLabel('YAML', { exact: true });
    expect(await yaml.inputValue()).toContain('memory_mb: 0');
    await page
      .getByRole('alert')
      .getByText(/Line \d+: source_config.resource_spec.memory_mb/)
      .waitFor();
    await yaml.fill((await yaml.inputValue()).replace('memory_mb: 0', 'memory_mb: 300'));
    await checkPage(page);
    await page.getByRole('button', { name: 'Form' }).click();
    expect(await page.getByLabel('memory_mb', { exact: true }).inputValue()).toBe('300');
    await planButton(page).click();
    await plan(page)
      .getByRole('row', { name: /memory_mb/ })
      .getByText('300')
      .waitFor();
    await plan(page)
      .getByText(/^Pods are replaced/)
      .waitFor();
    await page.getByRole('button', { name: 'Discard changes' }).click();
    await remove(id);
  });

  test('shows what others have changed meanwhile, and keeps what was typed', async () => {
    const { page, id } = await open('conflict-shop');
    await image(page).fill('registry.example/shop/web:2.0.0');
    await planButton(page).click();
    await plan(page).waitFor();
    const body = { source_config: { resource_spec: { min_scale: 2, max_scale: 2 } } };
    await world.api.call('PATCH', `/v2/deployments/${id}`, body);
    const notice = page.getByRole('alert');
    await notice.getByRole('row', { name: /source_config.resource_spec.min_scale not set 2/ }).waitFor();
    await checkPage(page);
    await notice.getByRole('button', { name: 'Continue with my changes' }).click();
    expect(await image(page).inputValue()).toBe('registry.example/shop/web:2.0.0');
    await planButton(page).click();
    await plan(page)
      .getByRole('row', { name: /image_uri/ })
      .waitFor();
    expect(
      await plan(page)
        .getByRole('row', { name: /min_scale/ })
        .count(),
    ).toBe(0);
    await plan(page).getByRole('button', { name: 'Apply' }).click();
    await page.getByRole('region', { name: 'Progress of the change' }).waitFor();
    const { body: after } = await world.api.call<{ source_config: { resource_spec: object } }>(
      'GET',
      `/v2/deployments/${id}`,
    );
    expect(after.source_config.resource_spec).toMatchObject({ min_scale: 2 });
    await remove(id);
  });

  test('keeps what was typed while the API is away, after the session ended, and when another page is opened by mistake', async () => {
    const { page, id } = await open('typed-shop', { expected: /Failed to load resource/ });
    await image(page).fill('registry.example/shop/web:3.0.0');
    await page.context().setOffline(true);
    await planButton(page).click();
    await page.getByRole('alert').getByText('The API cannot be reached').waitFor();
    await page.context().setOffline(false);
    expect(await image(page).inputValue()).toBe('registry.example/shop/web:3.0.0');

    await page.context().clearCookies();
    await planButton(page).click();
    await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor();
    await signInWithKey(page, world.stack.apiKey);
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await image(page).inputValue()).toBe('registry.example/shop/web:3.0.0');

    await page.getByRole('link', { name: 'Events' }).click();
    await page.getByRole('dialog', { name: 'Leave without applying?' }).waitFor();
    await checkPage(page);
    await page.getByRole('button', { name: 'Stay' }).click();
    expect(await image(page).inputValue()).toBe('registry.example/shop/web:3.0.0');
    await planButton(page).click();
    await plan(page)
      .getByRole('row', { name: /image_uri/ })
      .waitFor();
    await page.getByRole('link', { name: 'Events' }).click();
    await page.getByRole('button', { name: 'Leave', exact: true }).click();
    await page.getByRole('heading', { name: 'Events' }).waitFor();
    await remove(id);
  });

  test('replaces values of secrets without showing them, unless someone asks', async () => {
    const secrets = [{ name: 'TOKEN', value: 'first-value' }];
    const { page, id } = await open('secret-shop', { secrets });
    await page.getByText('a value is stored').waitFor();
    expect(await page.content()).not.toContain('first-value');
    await page.getByRole('button', { name: 'Show values' }).click();
    await page.getByText('first-value').waitFor();
    await checkPage(page);
    await page.getByRole('button', { name: 'Hide values' }).click();
    await page.getByRole('button', { name: 'Replace the value of TOKEN' }).click();
    await page.getByLabel('Value of secret TOKEN').fill('second-value');
    await page.getByRole('button', { name: 'Show command' }).last().click();
    await page.getByRole('dialog').getByRole('tab', { name: 'curl' }).click();
    expect(await page.getByRole('dialog').innerText()).not.toContain('second-value');
    await page.keyboard.press('Escape');
    await planButton(page).click();
    await plan(page)
      .getByRole('row', { name: /secrets.TOKEN/ })
      .waitFor();
    await plan(page).getByRole('button', { name: 'Apply' }).click();
    await page.getByRole('region', { name: 'Progress of the change' }).waitFor();
    const { body } = await world.api.call<{ secrets: object[] }>('GET', `/v2/deployments/${id}`);
    expect(body.secrets).toEqual([{ name: 'TOKEN', value: 'second-value' }]);
    await remove(id);
  });
});

describeConsole('create', (world) => {
  test('from a sample, a repository and a folder, on a phone too', async () => {
    const page = await world.open({
      path: world.pathOf('/new?from=sample'),
      width: 360,
    });
    await page.getByLabel('Sample').selectOption('Flower shop');
    expect(await page.getByLabel('name (required)').inputValue()).toBe('Flower shop');
    await page.getByText('Secret registry-credentials').waitFor();
    await checkPage(page);
    await planButton(page).click();
    await plan(page).getByText('Deployment', { exact: false }).first().waitFor();
    await checkPage(page);

    await page.getByRole('link', { name: 'From a repository' }).click();
    await page.getByText('This platform builds no repositories').waitFor();

    await page.getByRole('link', { name: 'From a folder' }).click();
    await page.getByLabel('Name of the deployment').fill('folder-shop');
    await page.getByText('berth deploy folder-shop .').waitFor();
    await checkPage(page);
    // What was chosen is still there.
    await page.getByRole('link', { name: 'From a sample' }).click();
    expect(await page.getByLabel('name (required)').inputValue()).toBe('Flower shop');
  });

  test('from a repository of an integration, on a platform that builds', async () => {
    const page = await world.open({ expected: /status of (400|422)/ });
    const id = '01890000-0000-7000-8000-00000000000a';
    const answer = (resources: object[]) => ({ json: { resources, offset: resources.length } });
    await page.route('**/v2/policy', async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), hosting: 'cloud' } });
    });
    await page.route('**/v2/integrations?*', (route) =>
      route.fulfill(answer([{ id, name: 'git', host_url: 'https://git.example' }])),
    );
    await page.route('**/v2/integrations/*/repos?*', (route) =>
      route.fulfill(
        answer([
          {
            full_name: 'shop/web',
            repo_url: 'https://git.example/shop/web.git',
            default_branch: 'main',
            private: true,
          },
        ]),
      ),
    );
    await page.goto(`${world.stack.url}/console${world.pathOf('/new?from=repository')}`);
    await page
      .getByLabel('Integration', { exact: true })
      .selectOption({ label: 'git (https://git.example)' });
    await page.getByLabel('Repository', { exact: true }).selectOption({ label: 'shop/web (private)' });
    expect(await page.getByLabel('repo_url').inputValue()).toBe('https://git.example/shop/web.git');
    expect(await page.getByLabel('name (required)').inputValue()).toBe('web');
    expect(await page.getByLabel('repo_ref').inputValue()).toBe('main');
    await checkPage(page);
    // This Berth builds nothing, and says so. What was typed stays.
    await planButton(page).click();
    await page.getByRole('alert').waitFor();
    expect(await page.getByLabel('repo_ref').inputValue()).toBe('main');
  });
});
