import { expect, test } from 'vitest';
import { smallDeployment } from '../integration/harness/samples.ts';
import { checkPage, describeConsole } from './harness/console.ts';

describeConsole('tasks', (world) => {
  test('runs a command, shows why it failed, and cancels another one', async () => {
    const off = { database: { enabled: false }, cache: { enabled: false } };
    const body = smallDeployment('task-shop') as { source_config: object };
    const { id } = await world.api.create({ ...body, source_config: { ...body.source_config, ...off } });
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
    await world.api.call('DELETE', `/v2/deployments/${id}`);
  });
});
