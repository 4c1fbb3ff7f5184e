import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { smallDeployment } from '../integration/harness/samples.ts';
import { checkPage, confirmIn, describeConsole } from './harness/console.ts';

describeConsole('tasks', (world) => {
  test('runs commands, schedules and release commands, and shows why they failed', async () => {
    const off = { database: { enabled: false }, cache: { enabled: false } };
    const schedules = [{ name: 'yearly', schedule: '0 0 1 1 *', command: ['exit-4'] }];
    const { id } = await world.api.create(
      smallDeployment('task-shop', { source_config: { ...off, schedules } }),
    );
    await world.api.ready(id);
    // The simulated nodes have no output, so the page of the output may fail and try again.
    const path = world.pathOf(`/deployments/${id}/tasks`);
    const page = await world.open({ path, expected: /status of 50[234]/ });
    await page.getByText('No command was run yet').waitFor();

    const run = async (line: string) => {
      await page.getByRole('button', { name: 'Run a command' }).click();
      const dialog = page.getByRole('dialog', { name: 'Run a command' });
      await dialog.getByLabel('Command', { exact: true }).fill(line);
      await dialog.getByRole('button', { name: 'Run', exact: true }).click();
      await page.getByRole('heading', { name: 'Task', exact: true }).waitFor();
    };
    await run(`exit-7 'two words'`);
    const facts = page.getByRole('region', { name: 'Task', exact: true });
    await facts.getByText('FAILED', { exact: true }).waitFor();
    await facts.getByText('CommandFailed').waitFor();
    await facts.getByText(`exit-7 'two words'`).waitFor();
    await checkPage(page);

    await page.getByRole('link', { name: 'All tasks of the deployment' }).click();
    await page
      .getByRole('row', { name: /exit-7/ })
      .getByText('FAILED', { exact: true })
      .waitFor();
    await checkPage(page);
    await run('sleep');
    await facts.getByText('RUNNING', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    await page.getByRole('button', { name: 'Cancel the task' }).click();
    await facts.getByText('CANCELLED', { exact: true }).waitFor();
    expect(await page.getByRole('button', { name: 'Cancel', exact: true }).count()).toBe(0);

    await runsSchedule(page);
    await showsUnknown(page);
    await showsRelease(page, id);
    await choosesRelease(page, id);
    await world.api.call('DELETE', `/v2/deployments/${id}`);
  });

  /** From the page of a task: runs a schedule, and suspends it. */
  async function runsSchedule(page: Page): Promise<void> {
    const facts = page.getByRole('region', { name: 'Task', exact: true });
    const openList = () => page.getByRole('link', { name: 'All tasks of the deployment' }).click();
    const row = page.getByRole('region', { name: 'Table: Schedules' }).getByRole('row', { name: /yearly/ });
    await openList();
    await row.getByText('none is stored').waitFor();
    await row.getByRole('button', { name: 'Run now yearly' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Run now', exact: true }).click();
    await facts.getByText('schedule', { exact: true }).waitFor();
    await facts.getByText('FAILED', { exact: true }).waitFor();
    await openList();
    await row.getByText('FAILED', { exact: true }).waitFor();
    await row.getByRole('button', { name: 'Suspend yearly' }).click();
    // The first request is carried out, but its answer is lost. The second one must not resume the schedule.
    const change = /\/v2\/deployments\/[^/?]+$/;
    await page.route(
      change,
      async (route) => {
        if (route.request().method() !== 'PATCH') return route.fallback();
        await route.fetch();
        await route.fulfill({ status: 502, body: '' });
      },
      { times: 1 },
    );
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Suspend', exact: true }).click();
    await dialog.getByRole('alert').waitFor();
    // The page requests the deployment again after the error, and knows then that the schedule is suspended.
    await page.getByText('suspended', { exact: true }).waitFor({ state: 'attached' });
    await confirmIn(page, 'Suspend');
    await row.getByText('suspended', { exact: true }).waitFor();
    await row.getByRole('button', { name: 'Resume yearly' }).waitFor();
    await checkPage(page);
  }

  /** A task of a cluster that is not observed, with the output that its pod has printed. The simulated nodes print nothing. */
  async function showsUnknown(page: Page): Promise<void> {
    await page.route(/\/tasks\/[^/?]+$/, async (route) => {
      const response = await route.fetch();
      await route.fulfill({
        response,
        json: { ...(await response.json()), state: 'UNKNOWN', exit_code: null },
      });
    });
    const line = {
      ...{ at: new Date().toISOString(), component: 'api', pod: 'task', container: 'app', revision_id: null },
      text: '<img src=x onerror="document.title=1"> the first line',
    };
    const lines = [line, { end: 'The container has ended.', reason: 'complete' }];
    await page.route(/\/tasks\/[^/]+\/logs/, (route) =>
      route.fulfill({
        contentType: 'application/x-ndjson',
        body: lines.map((each) => `${JSON.stringify(each)}\n`).join(''),
      }),
    );
    await page.getByRole('row', { name: /sleep/ }).getByRole('link').click();
    const facts = page.getByRole('region', { name: 'Task', exact: true });
    await facts.getByText('UNKNOWN', { exact: true }).waitFor();
    const output = page.getByRole('region', { name: 'Lines of the log' });
    await output.getByText('onerror="document.title=1"> the first line').waitFor();
    expect(await output.locator('img').count()).toBe(0);
    await page.getByText('The container has ended.').waitFor();
    await checkPage(page);
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  }

  /** A release command that fails: in the timeline, with a link to its task, and in the revisions. */
  async function showsRelease(page: Page, id: string): Promise<void> {
    const config = { release_command: ['exit-3'] };
    await world.api.call('PATCH', `/v2/deployments/${id}`, { source_revision_config: config });
    await page.goto(`${world.stack.url}/console${world.pathOf(`/deployments/${id}/revisions`)}`);
    const row = page.getByRole('row', { name: /Release command/ });
    await row.getByText('DEPLOY_FAILED', { exact: true }).waitFor();
    await row
      .getByText(/exit code 3/)
      .first()
      .waitFor();
    await page.goto(`${world.stack.url}/console${world.pathOf(`/deployments/${id}`)}`);
    const timeline = page.getByRole('region', { name: 'Rollout timeline' });
    await timeline.getByText(/^Release command: FAILED/).waitFor();
    await checkPage(page);
    await timeline.getByRole('link', { name: 'Output of the release command of revision 2' }).click();
    const facts = page.getByRole('region', { name: 'Task', exact: true });
    await facts.getByText('release', { exact: true }).waitFor();
  }

  /** A rollback to a revision with a release command runs it only on request. */
  async function choosesRelease(page: Page, id: string): Promise<void> {
    const config = { release_command: null };
    await world.api.call('PATCH', `/v2/deployments/${id}`, { source_revision_config: config });
    await page.goto(`${world.stack.url}/console${world.pathOf(`/deployments/${id}/revisions`)}`);
    await page.getByRole('button', { name: 'Roll back to revision 2' }).click();
    const rollback = page.getByRole('dialog', { name: 'Roll back to revision 2' });
    await rollback.getByText('A new revision is created.').waitFor();
    const outlook = rollback.getByText('The release command runs before the rollout.');
    expect(await outlook.count()).toBe(0);
    await rollback.getByRole('checkbox', { name: /^Run the release command/ }).check();
    await outlook.waitFor();
    await checkPage(page);
  }
});
