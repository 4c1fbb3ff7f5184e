/**
 * API, listener and operator in processes of their own, the listener over HTTP with its key. A status is what was
 * observed: without a listener it is UNKNOWN, and the operator continues to repair without the hub.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freePorts } from '../../cluster/ports.ts';
import { waitFor } from '../../cluster/wait.ts';
import type { BerthProcess } from '../../installation/berth-process.ts';
import {
  type DeploymentAnswer,
  smallDeployment,
  startWholeBerth,
  type WholeBerth,
} from '../harness/berth.ts';
import { kubectlAsAdmin } from '../harness/environment.ts';

let berth: WholeBerth;
beforeAll(async () => {
  // The listener finds the hub where it was; a port that the system picks may be taken as soon as it is let go.
  const [port = 0] = await freePorts(1);
  const settings = { BERTH_LEASE_SECONDS: '16', BERTH_PORT: String(port) };
  berth = await startWholeBerth('unobserved', { start: 'api', settings });
});
afterAll(() => berth?.stop());

const startListener = (): Promise<BerthProcess> =>
  berth.startRole('listener', 'listener', { BERTH_HUB_URL: berth.process().url });
const reasons = ({ conditions }: DeploymentAnswer) => conditions.map(({ reason }) => reason);

async function healed(id: string): Promise<void> {
  const api = ['deployment', '-l', `berth.dev/deployment-id=${id},app.kubernetes.io/component=api`];
  const uid = async () => (await berth.get(...(api as [string]))).items[0]?.metadata.uid;
  const before = await uid();
  await kubectlAsAdmin(['delete', ...api, '-n', berth.namespace, '--wait=true']);
  await waitFor(
    'the Deployment to be back',
    async () => {
      const now = await uid();
      return now !== undefined && now !== before;
    },
    { timeoutMs: 30_000 },
  );
}

it('reports UNKNOWN before the first observation and while the cluster does not report', async () => {
  const { id } = await berth.create(smallDeployment('watched'));
  const waiting = await berth.until(id, 'no listener was ever seen', (seen) =>
    reasons(seen).includes('ListenerNeverSeen'),
  );
  expect(waiting.status).toBe('AWAITING_DATABASE');

  await berth.startRole('operator', 'operator');
  const listener = await startListener();
  const ready = await berth.ready(id);

  await listener.stop('SIGKILL');
  const unknown = await berth.until(id, 'UNKNOWN', ({ status }) => status === 'UNKNOWN');
  expect(reasons(unknown)).toContain('ListenerLost');
  expect(unknown.active_revision_id).toBe(ready.active_revision_id);
  await healed(id);

  // Requested while the cluster does not report: applied when it does again.
  const patched = await berth.call('PATCH', `/v2/deployments/${id}`, {
    source_revision_config: { image_uri: 'registry.example/shop/web:2.0.0' },
  });
  expect(patched.body.status).toBe('UNKNOWN');
  await startListener();
  const again = await berth.ready(id);
  expect(again.active_revision_id).toBe(patched.body.latest_revision_id);
});

it('repairs without the hub, and reports it when the hub is back', async () => {
  const { id } = await berth.create(smallDeployment('on-its-own'));
  const before = await berth.ready(id);
  await berth.process().stop('SIGKILL');
  await healed(id);
  await berth.restart();
  const after = await berth.ready(id);
  expect(after.active_revision_id).toBe(before.active_revision_id);
});
