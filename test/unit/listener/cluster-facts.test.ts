import { describe, expect, it } from 'vitest';
import { ClusterProbe } from '../../../src/listener/cluster-facts.ts';
import { FakeClock, recordingLogger } from '../kube/support.ts';

function setUp() {
  const clock = new FakeClock();
  let asked = 0;
  let up = true;
  let lastError: string | undefined;
  const logger = recordingLogger();
  const probe = new ClusterProbe({
    client: {
      serverVersion: async () => {
        asked += 1;
        if (!up) throw new Error('ECONNREFUSED');
        return { major: '1', minor: '36+', gitVersion: 'v1.36.3-eks' };
      },
    },
    lastError: () => lastError,
    rendering: { hosting: 'self_hosted' } as never,
    logger,
    clock,
  });
  return {
    probe,
    clock,
    logger,
    asked: () => asked,
    set: (now: boolean, error?: string) => {
      up = now;
      lastError = error;
    },
  };
}

describe('what the hub is told of the cluster', () => {
  it('is its version, asked now and then, and the rendering for it', async () => {
    const t = setUp();
    expect(await t.probe.facts()).toEqual({
      cluster_version: 'v1.36.3-eks',
      rendering: { hosting: 'self_hosted', kubernetesVersion: '1.36' },
      cluster_reachable: true,
    });
    await t.probe.facts();
    expect(t.asked()).toBe(1);
    t.clock.advance(20_000);
    await t.probe.facts();
    expect(t.asked()).toBe(2);
  });

  it('that does not answer is unreachable until it does, told in the log once each', async () => {
    const t = setUp();
    await t.probe.facts();
    t.set(true, 'watch failed');
    expect(await t.probe.facts()).toMatchObject({ cluster_reachable: false, cluster_version: 'v1.36.3-eks' });
    expect(t.probe.isReachable).toBe(false);
    t.set(false);
    await t.probe.facts();
    t.set(true);
    expect(await t.probe.facts()).toMatchObject({ cluster_reachable: true });
    expect(t.logger.lines.map(({ level }) => level)).toEqual(['warn', 'info']);
  });

  it('never seen yet has no version and no rendering', async () => {
    const t = setUp();
    t.set(false);
    expect(await t.probe.facts()).toEqual({ cluster_version: '', rendering: null, cluster_reachable: false });
  });
});
