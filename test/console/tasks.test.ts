import { expect, test } from 'vitest';
import { smallDeployment } from '../integration/harness/samples.ts';
import { checkPage, describeConsole } from './harness/console.ts';

describeConsole('tasks', (world) => {
  test('runs commands and a schedule, shows their results, and links a revision to its release command', async () => {
    const off = { database: { enabled: false }, cache: { enabled: false } };
    const schedules = [{ name: 'nightly', schedule: '30 2 * * *', command: ['clean', 'all'], suspend: true }];
    const body = smallDeployment('task-shop') as { source_config: object; source_revision_config: object };
    const { id } = await world.api.create({
      ...body,
      source_config: { ...body.source_config, ...off, schedules },
      source_revision_config: { ...body.source_revision_config, release_command: ['migrate', 'up'] },
    });
    await world.api.ready(id);
    // The simulated nodes have no output, so the page of the output may fail and try again.
    const path = world.pathOf(`/deployments/${id}/tasks`);
    const page = await world.open({ path, expected: /status of 50[234]/ });
    await page
      .getByRole('row', { name: /migrate up/ })
      .getByText('release', { exact: true })
      .waitFor();

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

    await page.getByRole('link', { name: 'All tasks of the deployment' }).click();
    const schedule = page.getByRole('region', { name: 'Schedules' }).getByRole('row', { name: /nightly/ });
    await schedule.getByText('suspended, 30 2 * * * (Etc/UTC)').waitFor();
    await schedule.getByText('none among the tasks below').waitFor();
    await checkPage(page);
    await page.getByRole('button', { name: 'Run now nightly' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Run', exact: true }).click();
    await facts.getByText('SUCCEEDED', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'All tasks of the deployment' }).click();
    await schedule.getByText('SUCCEEDED', { exact: true }).waitFor();

    await page.getByRole('link', { name: 'Overview' }).click();
    const release = page.getByRole('region', { name: 'Rollout timeline' }).getByText('Release command');
    await release.getByText('SUCCEEDED', { exact: true }).waitFor();
    await checkPage(page);
    await release.getByRole('link', { name: 'migrate up' }).click();
    await facts.getByText('release', { exact: true }).waitFor();

    const image_uri = 'registry.example/shop/web:2.0.0';
    await world.api.call('PATCH', `/v2/deployments/${id}`, { source_revision_config: { image_uri } });
    await page.getByRole('link', { name: 'Revisions' }).click();
    await page.getByRole('button', { name: 'Roll back to revision 1' }).click();
    const rollback = page.getByRole('dialog', { name: 'Roll back to revision 1' });
    await rollback.getByText('A new revision is created.').waitFor();
    const outlook = rollback.getByText('The release command runs before the rollout.');
    expect(await outlook.count()).toBe(0);
    await rollback.getByRole('checkbox', { name: /^Run the release command/ }).check();
    await outlook.waitFor();
    await checkPage(page);
    await rollback.getByRole('button', { name: 'Roll back', exact: true }).click();
    const progress = page.getByRole('region', { name: 'Progress of the change' });
    await progress.getByText(/^READY/).waitFor();
    const tasks = await world.api.call<{ resources: { origin: string; revision_number: number }[] }>(
      'GET',
      `/v2/deployments/${id}/tasks`,
    );
    const releases = tasks.body.resources.filter(({ origin }) => origin === 'release');
    expect(releases.map(({ revision_number: number }) => number)).toEqual([3, 2, 1]);
    await world.api.call('DELETE', `/v2/deployments/${id}`);
  });
});
