/** The lease probe, which finds out whether the cluster responds. */
import { expect, it } from 'vitest';
import { KubeError } from '../../../../../src/cluster/kube/client/errors.ts';
import { leaseProbe } from '../../../../../src/cluster/kube/leader/lease-probe.ts';
import { FakeClock } from '../support.ts';

function setUp() {
  const clock = new FakeClock();
  const state = { asked: 0, fails: false };
  const probe = leaseProbe(
    {
      find: async ({ kind }, at) => {
        expect([kind, at]).toEqual(['Lease', { namespace: 'berth-system', name: 'berth-operator' }]);
        state.asked += 1;
        if (state.fails) throw new KubeError({ kind: 'network', message: 'etcd is gone, at 10.0.0.7' });
        return undefined;
      },
    },
    { namespace: 'berth-system', name: 'berth-operator' },
    clock,
  );
  return { clock, state, probe };
}

it('a cluster responds when it reports that the Lease does not exist', async () => {
  expect(await setUp().probe()).toBeNull();
});

it('a cluster counts as unresponsive while it cannot read its Leases, and its address is not reported', async () => {
  const { clock, state, probe } = setUp();
  state.fails = true;
  expect(await probe()).toBe('the cluster does not respond');
  state.fails = false;
  clock.advance(5_000);
  expect(await probe()).toBeNull();
});

it('simultaneous probes, and probes within 5 s, share one call', async () => {
  const { clock, state, probe } = setUp();
  await Promise.all([probe(), probe()]);
  clock.advance(4_999);
  await probe();
  expect(state.asked).toBe(1);
});
