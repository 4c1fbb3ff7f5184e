import { expect, test } from 'vitest';
import { smallDeployment } from '../integration/harness/samples.ts';
import { checkPage, describeConsole } from './harness/console.ts';

/** A value of a tenant that must be shown as text. */
const HOSTILE = `<img src=x onerror="document.title='broken'">\u202eabc \u05e9\u05dc\u05d5\u05dd 🚢 ${'x'.repeat(10_000)}`;

describeConsole('revisions', (world) => {
  /** Two revisions: the first one is active, the second one has another image, a hostile variable and another secret. */
  async function twoRevisions(name: string): Promise<{ id: string; first: string; second: string }> {
    const secrets = [{ name: 'FIRST_KEY', value: 'hidden-value-1' }];
    const created = await world.api.create(smallDeployment(name, { secrets }));
    const ready = await world.api.ready(created.id);
    const body = {
      source_revision_config: {
        image_uri: 'registry.example/shop/web:2.0.0',
        env: [{ name: 'GREETING', value: HOSTILE }],
      },
      secrets: [{ name: 'SECOND_KEY', value: 'hidden-value-2' }],
    };
    const { body: patched } = await world.api.call('PATCH', `/v2/deployments/${created.id}`, body);
    return {
      id: created.id,
      first: ready.latest_revision_id ?? '',
      second: patched.latest_revision_id ?? '',
    };
  }

  test('compares two revisions, which the URL names', async () => {
    const { id, first, second } = await twoRevisions('compare-shop');
    const page = await world.open({ path: world.pathOf(`/deployments/${id}/revisions`), width: 800 });
    await page.getByRole('button', { name: 'Compare revision 1', exact: true }).click();
    const comparison = page.getByRole('region', { name: 'Differences', exact: true });
    await comparison
      .getByRole('row', { name: /^image_uri/ })
      .getByText('web:2.0.0')
      .waitFor();
    expect(new URL(page.url()).search).toBe(`?from=${second}&to=${first}`);
    await comparison.getByRole('row', { name: /^secrets.FIRST_KEY/ }).waitFor();
    await comparison.getByRole('button', { name: 'Swap' }).click();
    await comparison.getByText(/^<img src=x/).waitFor();
    await comparison.getByRole('button', { name: /^Show all \d+ characters/ }).click();
    await checkPage(page);
    await page.reload();
    await comparison.getByRole('row', { name: /^env.GREETING/ }).waitFor();
    expect(await page.title()).toBe('compare-shop – Berth');
    expect(await page.content()).not.toContain('hidden-value');
    await world.api.call('DELETE', `/v2/deployments/${id}`);
  });

  test('rolls back with a preview that follows changes, and follows the rollout', async () => {
    const { id } = await twoRevisions('return-shop');
    const path = world.pathOf(`/deployments/${id}/revisions`);
    const page = await world.open({ path, expected: /status of 412/ });
    await page.getByRole('button', { name: 'Roll back to revision 1' }).click();
    const dialog = page.getByRole('dialog', { name: 'Roll back to revision 1' });
    await dialog.getByText('Pods are replaced: api.').waitFor();
    await dialog
      .getByRole('row', { name: /^source_revision_config.image_uri/ })
      .getByText('web:1.0.0')
      .waitFor();
    await dialog.getByRole('row', { name: /^secrets.SECOND_KEY/ }).waitFor();
    await checkPage(page);

    // Someone else changes the deployment between the preview and the click.
    await page.route(/\/rollback\?dry_run=false/, async (route) => {
      const headers = { ...route.request().headers(), 'if-match': '"1"' };
      await route.continue({ headers });
    });
    await dialog.getByRole('button', { name: 'Roll back', exact: true }).click();
    await dialog.getByRole('alert').getByText('If-Match does not match').waitFor();
    await page.unroute(/\/rollback\?dry_run=false/);
    await dialog.getByRole('button', { name: 'Roll back', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });

    const progress = page.getByRole('region', { name: 'Progress of the change' });
    await progress.getByText(/^READY/).waitFor();
    expect(new URL(page.url()).search).toBe('?follow=3');
    const timeline = page.getByRole('region', { name: 'Rollout timeline' });
    await timeline.getByText('Revision 3:').waitFor();
    await timeline.getByRole('row', { name: /^DEPLOYING/ }).waitFor();
    await timeline
      .getByText(/^In all: /)
      .first()
      .waitFor();
    // The components are open while a rollout is in progress, and stay open.
    const closed = timeline.locator('details:not([open]) > summary', {
      hasText: 'Components in the cluster',
    });
    if ((await closed.count()) > 0) await closed.click();
    await timeline.getByRole('row', { name: /^api ready/ }).waitFor();
    await checkPage(page);
    await world.api.call('DELETE', `/v2/deployments/${id}`);
  });

  test('hides the actions from a session without the scope', async () => {
    const { id } = await world.api.create(smallDeployment('locked-shop'));
    const page = await world.open({ path: world.pathOf(`/deployments/${id}`) });
    await page.route(/\/v2\/auth\/session$/, async (route) => {
      const response = await route.fetch();
      const session = (await response.json()) as {
        tenants: { scopes: string[] }[];
        platform_scopes: string[];
      };
      const read = ['deployments:read'];
      const tenants = session.tenants.map((tenant) => ({ ...tenant, scopes: read }));
      await route.fulfill({ response, json: { ...session, tenants, platform_scopes: [] } });
    });
    await page.goto(`${world.stack.url}/console${world.pathOf(`/deployments/${id}/revisions`)}`);
    await page.getByRole('button', { name: 'Compare revision 1 with the one before' }).waitFor();
    expect(await page.getByRole('button', { name: 'Redeploy revision 1' }).count()).toBe(0);
    await world.api.call('DELETE', `/v2/deployments/${id}`);
  });
});
