/** The database and the cache of a deployment, with real servers and data: Berth's start and ready scripts at work. */
import { beforeAll, describe, expect, it } from 'vitest';
import { waitFor } from '../cluster/wait.ts';
import type { DeploymentAnswer } from '../integration/harness/berth.ts';
import {
  create,
  http,
  image,
  killContainer,
  kubectl,
  NAMESPACE,
  type Pod,
  pods,
  selector,
  service,
  until,
  untilReady,
  whySkipped,
} from './harness/environment.ts';

describe.skipIf(whySkipped() !== undefined)('the data services', () => {
  let created: DeploymentAnswer;
  let app: { host: string; port: number };
  beforeAll(async () => {
    created = await create('ledger', 'shop:1');
    await untilReady(created.id);
    app = await service(created.id);
  });

  const ask = async (method: string, path: string) => {
    const { status, body } = await http(app, method, path);
    if (status !== 200) throw new Error(`${method} ${path}: ${status} ${body}`);
    return JSON.parse(body);
  };
  const onlyPod = async (component: string): Promise<Pod> => {
    const [pod] = await pods(created.id, component);
    if (!pod) throw new Error(`no pod of ${component}`);
    return pod;
  };
  const inDatabase = async (...command: string[]) =>
    kubectl('-n', NAMESPACE, 'exec', (await onlyPod('database')).metadata.name, '--', ...command);

  it('accept the app with the password of the Secret, and reject another password', async () => {
    const [row] = await ask('GET', '/database');
    expect(row.current_user).toBe('app');
    expect(row.version).toMatch(/^PostgreSQL \d+/);
    const attempt = inDatabase(
      'sh',
      '-c',
      'PGPASSWORD=wrong psql -h "$(hostname -i)" -U app -c "SELECT 1" app',
    );
    await expect(attempt).rejects.toThrow(/password authentication failed/);
  });

  it('return the value that the app stored in the cache', async () => {
    expect(await ask('POST', '/cache?value=warm')).toBe('OK');
    expect(await ask('GET', '/cache')).toBe('warm');
  });

  it('run as an unprivileged user with a read-only root file system', async () => {
    expect(await inDatabase('id')).toMatch(/^uid=999\S* gid=999\S* groups=999\S*\s*$/);
    await expect(inDatabase('touch', '/usr/here')).rejects.toThrow(/Read-only file system/);
    const caps = await inDatabase('sh', '-c', 'grep CapEff /proc/1/status; grep NoNewPrivs /proc/1/status');
    expect(caps).toMatch(/CapEff:\s*0{16}\nNoNewPrivs:\s*1/);
  });

  it('keep committed rows when the database container is killed and when its pod is deleted', async () => {
    await ask('POST', '/rows?value=first');
    const before = await onlyPod('database');
    // The first process of the container: the kubelet starts it again in the same pod.
    killContainer(before, 'database');
    await waitFor(
      'the database to be started again',
      async () => {
        const status = (await onlyPod('database')).status.containerStatuses?.[0];
        return (status?.restartCount ?? 0) > 0 && status?.state.running !== undefined;
      },
      { timeoutMs: 60_000, intervalMs: 200 },
    );
    const rows = () => waitFor('the rows', () => ask('GET', '/rows'), { timeoutMs: 90_000, intervalMs: 300 });
    expect(await rows()).toEqual([{ value: 'first' }]);
    await ask('POST', '/rows?value=second');
    // Now the whole pod, at once.
    await kubectl(...['delete', 'pod', ...selector(created.id, 'database'), '--grace-period=0', '--force']);
    expect(await rows()).toEqual([{ value: 'first' }, { value: 'second' }]);
    const after = await onlyPod('database');
    expect(after.metadata.uid).not.toBe(before.metadata.uid);
    await until(created.id, 'READY again', ({ status }) => status === 'READY');
  });

  it('use the images of the settings', async () => {
    const images = async (component: string) =>
      (await onlyPod(component)).spec.containers.map((one) => one.image);
    expect(await images('database')).toEqual([image('base/postgres:latest')]);
    expect(await images('cache')).toEqual([image('base/redis:latest')]);
  });
});
