/** Berth itself in the cluster: the image of our own Dockerfile, installed by the chart at the level restricted. */
import { describe, expect, it } from 'vitest';
import { BERTH_NAMESPACE } from '../installation/install.ts';
import { call, get, http, kubectl, node, type Pod, whySkipped } from './harness/environment.ts';

describe.skipIf(whySkipped() !== undefined)('the installation', () => {
  const exec = (...command: string[]) =>
    kubectl('-n', BERTH_NAMESPACE, 'exec', 'deploy/berth', '--', ...command);

  it('runs in one pod without restarts after a successful migration', async () => {
    type Pods = { items: (Pod & { status: { phase: string } })[] };
    const { items } = await get<Pods>('pods', '-n', BERTH_NAMESPACE);
    expect(items.map(({ status }) => status.phase).toSorted()).toEqual(['Running', 'Succeeded']);
    const running = items.find(({ status }) => status.phase === 'Running');
    expect(running?.status.containerStatuses?.map(({ restartCount }) => restartCount)).toEqual([0]);
  });

  it('runs without root privileges, and can write only to /tmp', async () => {
    expect(await exec('id', '-u')).toBe('10001\n');
    await expect(exec('touch', '/app/here')).rejects.toThrow(/Read-only file system/);
    await exec('touch', '/tmp/here');
    const status = await exec('grep', '-E', '^(CapEff|CapBnd|NoNewPrivs|Seccomp):', '/proc/1/status');
    expect(
      Object.fromEntries(
        status
          .trim()
          .split('\n')
          .map((line) => line.split(/:\s*/)),
      ),
    ).toEqual({
      CapEff: '0'.repeat(16),
      CapBnd: '0'.repeat(16),
      NoNewPrivs: '1',
      Seccomp: '2',
    });
  });

  it('includes git, which builds need to clone repositories', async () => {
    expect(await exec('git', '--version')).toMatch(/^git version 2\./);
  });

  it('responds through its Service, and logs lines of JSON without a secret', async () => {
    expect((await http(node().api, 'GET', '/readyz')).status).toBe(200);
    await call('GET', '/v2/deployments');
    const lines = (await kubectl('-n', BERTH_NAMESPACE, 'logs', 'deploy/berth')).trim().split('\n');
    const messages = lines.map((line) => (JSON.parse(line) as { msg: string }).msg);
    expect(messages).toContain('berth is ready');
    expect(lines.join('\n')).not.toContain(node().apiKey);
  });
});
