import { expect, test } from 'vitest';
import { smallDeployment } from '../integration/harness/samples.ts';
import { checkPage, describeConsole } from './harness/console.ts';

describeConsole('objects', (world) => {
  test('shows the objects of a deployment, and the selected one with events and YAML', async () => {
    const secrets = [{ name: 'PASSWORD', value: 'canary-of-the-console' }];
    const { id } = await world.api.create(smallDeployment('map-shop', { secrets }));
    await world.api.ready(id);
    const page = await world.open({ path: world.pathOf(`/deployments/${id}/objects`) });
    const map = page.getByRole('region', { name: 'Objects' });
    // Below the custom resource: the Deployment, its ReplicaSet, and the pod.
    const pod = map.locator('ul ul ul ul').getByRole('link', { name: /map-shop|^dep-/ });
    await pod.first().waitFor();
    await map.getByText('Secret', { exact: true }).first().waitFor();
    await page.getByText('CPU and memory in use are not shown').waitFor();
    await checkPage(page);

    const link = map
      .getByRole('listitem')
      .filter({ hasText: /^Deployment/ })
      .getByRole('link')
      .first();
    const name = (await link.textContent()) ?? '';
    await link.focus();
    await page.keyboard.press('Enter');
    const details = page.getByRole('region', { name: `Deployment ${name}` });
    await details.getByRole('region', { name: 'YAML' }).getByText('kind: Deployment').waitFor();
    expect(new URL(page.url()).searchParams.get('object')).toBe(`Deployment/${name}`);
    expect(await page.evaluate('document.activeElement.textContent')).toBe(`Deployment ${name}`);
    expect(await page.content()).not.toContain('canary-of-the-console');
    await checkPage(page);
    await page.setViewportSize({ width: 360, height: 800 });
    await checkPage(page);

    await page.goBack();
    await details.waitFor({ state: 'detached' });
    await world.api.call('DELETE', `/v2/deployments/${id}`);
  });

  test('a URL selects an object, a Secret by name only', async () => {
    const { id } = await world.api.create(smallDeployment('map-link'));
    const path = (object: string) => world.pathOf(`/deployments/${id}/objects?object=${object}`);
    const page = await world.open({ path: path('Secret%2Fdatabase') });
    await page.getByText('Secrets are shown by name only').waitFor();
    await page.goto(`${world.stack.url}/console${path('Pod%2Fabsent')}`);
    await page.getByRole('alert').getByText('Request id').waitFor();
    await checkPage(page);
    await world.api.call('DELETE', `/v2/deployments/${id}`);
  });
});
