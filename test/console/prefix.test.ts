import type { Server } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePorts } from '../cluster/ports.ts';
import { type BerthProcess, startOnPort } from '../installation/berth-process.ts';
import { describeConsole } from './harness/console.ts';
import { startProxy } from './harness/proxy.ts';

const PREFIX = '/tools/berth';

describeConsole('behind a path prefix', (world) => {
  let berth: BerthProcess;
  let proxy: Server;
  let url = '';
  beforeAll(async () => {
    const [port = 0] = await freePorts(1);
    url = `http://localhost:${port}${PREFIX}`;
    const settings = { ...world.stack.settings, BERTH_PORT: '0', BERTH_PUBLIC_URL: url };
    berth = await startOnPort({ stateDir: world.stack.stateDir, role: 'api', name: 'prefixed', settings });
    proxy = await startProxy({ port, prefix: PREFIX, targets: [berth.url] });
  });
  afterAll(async () => {
    proxy?.closeAllConnections();
    proxy?.close();
    await berth?.stop();
  });

  test('deep links work, and a second API process shows the same deployments', async () => {
    const page = await world.open({ url, path: world.pathOf('/deployments?status=UNUSED') });
    await page.getByText('No deployment matches these filters').waitFor();
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await page.getByRole('link', { name: 'Berth' }).click();
    await expect.poll(() => page.url()).toBe(`${url}/console${world.pathOf('/deployments')}`);
    await page.goto(`${url}/`);
    await expect.poll(() => page.url()).toContain(`${url}/console/t/`);
  });
});
