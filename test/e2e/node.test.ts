/** A node of its own beside that of the other files: what it does for pods, and that nothing is left of it. */
import { fork } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { pushBaseImage } from '../cluster/images/base-images.ts';
import { FIRST_TIME_MS } from '../cluster/images/tools.ts';
import { kubectl as kubectlOf } from '../cluster/kubectl.ts';
import { startRealNode } from '../cluster/real-node/node.ts';
import { waitFor } from '../cluster/wait.ts';
import { leftovers } from '../integration/harness/leftovers.ts';
import { whySkipped } from './harness/environment.ts';

const victim = fileURLToPath(new URL('harness/victim.ts', import.meta.url));

/** What a node could change of this machine: settings of the kernel, network devices, mounts. */
function machine(): Record<string, unknown> {
  const settings = ['vm/overcommit_memory', 'kernel/panic', 'kernel/panic_on_oops', 'net/ipv4/ip_forward'];
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8').split('\n').length;
  return {
    settings: settings.map((name) => readFileSync(`/proc/sys/${name}`, 'utf8')),
    devices: readdirSync('/sys/class/net').toSorted(),
    kubernetes: ['/var/lib', '/var/log', '/run'].map((folder) =>
      readdirSync(folder).filter((name) => /kubelet|cni|pods|containers|containerd|netns/.test(name)),
    ),
    mounts,
  };
}

describe.skipIf(whySkipped() !== undefined)('a real node', () => {
  it(
    'runs containers from its registry behind a Service, and leaves the machine unchanged after it stops',
    async () => {
      const before = machine();
      const node = await startRealNode({ log: () => undefined });
      const kubectl = (...args: string[]) => kubectlOf(node, args);
      try {
        await pushBaseImage('static', node.registry.host);
        // A name of any registry leads to the one that there is.
        const page =
          'mkdir /tmp/page && echo hello > /tmp/page/index.html && exec httpd -f -p 8000 -h /tmp/page';
        await kubectl(
          ...['create', 'deployment', 'web', '--image=docker.io/base/static:latest', '--', 'sh', '-c', page],
        );
        await kubectl('expose', 'deployment', 'web', '--port=80', '--target-port=8000');
        await kubectl('rollout', 'status', 'deploy/web', '--timeout=120s');
        const address = await kubectl('get', 'service', 'web', '-o', 'jsonpath={.spec.clusterIP}');
        const url = await node.forward(address, 80);
        // The rules of a Service follow its pods.
        const answer = await waitFor('the page', async () => await (await fetch(url)).text(), {
          timeoutMs: 30_000,
        });
        expect(answer).toBe('hello\n');
        const lookUp = ['exec', 'deploy/web', '--', 'nslookup', 'web.default.svc.cluster.local'];
        expect(await kubectl(...lookUp)).toContain(`Address: ${address}`);
        expect(machine()).toEqual(before);
      } finally {
        await node.stop();
      }
      expect(leftovers(node.stateDir)).toEqual([]);
      expect(leftovers(node.registry.stateDir)).toEqual([]);
      expect(machine()).toEqual(before);
    },
    FIRST_TIME_MS,
  );

  it('leaves no process, mount, cgroup or folder when the process that started it is killed with SIGKILL', async () => {
    const child = fork(victim, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    const stateDir = await new Promise<string>((resolve, reject) => {
      child.once('message', (message) => resolve(String(message)));
      child.once('exit', (code) => reject(new Error(`it ended with ${code}`)));
    });
    expect(leftovers(stateDir)).not.toEqual([]);
    child.kill('SIGKILL');
    await waitFor('all of it to be gone', async () => leftovers(stateDir).length === 0, {
      timeoutMs: 60_000,
    });
  });
});
