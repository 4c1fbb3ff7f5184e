import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { describeConsole } from './harness/console.ts';
import { hostileProblems } from './hostile/hostile-checks.ts';
import { openHostile, show } from './hostile/hostile-page.ts';
import { hostileText } from './hostile/hostile-values.ts';

const ID = '0196f0a0-5c1e-7b3a-9d51-0c4f6f1c2a77';

/** Pages with hostile content that appear only after an action. */
describeConsole('hostile content after an action', (world) => {
  async function open(path: string): Promise<Page> {
    const { page } = await openHostile(world, 'content', /status of 422/);
    await page.getByRole('table', { name: 'Deployments' }).waitFor();
    await show(page, world.pathOf(path));
    return page;
  }
  /** Types something and plans it. */
  async function planChange(page: Page): Promise<void> {
    await page
      .getByLabel(/^(image_uri|repo_ref)/)
      .first()
      .fill('changed');
    await page.getByRole('button', { name: 'Plan', exact: true }).click();
  }

  test('the plan of a change shows isolated text', async () => {
    const page = await open(`/deployments/${ID}/edit`);
    await planChange(page);
    const plan = page.getByRole('region', { name: 'Plan' });
    await plan.waitFor();
    const closed = plan.locator('details:not([open]) > summary');
    for (let left = await closed.count(); left > 0; left = await closed.count()) await closed.first().click();
    expect(await hostileProblems(page)).toEqual([]);
  });

  test('errors of fields are isolated text, in the form and in the YAML', async () => {
    const page = await open(`/deployments/${ID}/edit`);
    const texts = [1, 2, 3].map((number) => hostileText(number, true));
    const detail = [
      { loc: ['body', 'source_config'], msg: texts[0] },
      { loc: ['body', 'secrets', 0, 'value'], msg: texts[1] },
      { loc: ['body', hostileText(4, false)], msg: texts[2] },
    ];
    await page.route(/\?dry_run=true/, (route) => route.fulfill({ status: 422, json: { detail } }));
    await planChange(page);
    await page.getByText('3 fields were rejected').waitFor();
    expect(await hostileProblems(page)).toEqual([]);
    await page.getByRole('button', { name: 'YAML' }).click();
    await page.getByLabel('YAML', { exact: true }).waitFor();
    expect(await hostileProblems(page)).toEqual([]);
  });

  test('the progress of a change and the title of the document are isolated', async () => {
    const page = await open(`/deployments/${ID}?follow=1`);
    await page.getByRole('region', { name: 'Progress of the change' }).waitFor();
    expect(await hostileProblems(page)).toEqual([]);
    const title = await page.title();
    expect(title).toMatch(/^\u2068javascript:hostile\(\).*\u2069 – Berth$/su);
    expect(title).not.toMatch(/[\u202a-\u202e\u2066\u2067]/);
  });
});
