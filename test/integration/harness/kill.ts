/** Operators in processes of their own, killed at the very moment that a test names. */
import type { ChildProcess } from 'node:child_process';
import { Reflector } from '../../../src/cluster/kube/cache/reflector.ts';
import type { KubeClient } from '../../../src/cluster/kube/client/client.ts';
import type { UntypedObject } from '../../../src/cluster/kube/client/object.ts';
import type { Resource } from '../../../src/cluster/kube/client/resources.ts';
import { waitFor } from '../../cluster/wait.ts';
import { forkOperator, type OperatorSettings } from './operator.ts';

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** Starts an operator and waits until it leads. */
export async function startVictim(settings: OperatorSettings): Promise<ChildProcess> {
  const child = forkOperator(settings);
  let state = '';
  child.on('message', (message) => {
    state = String(message);
  });
  await waitFor(`${settings.identity} to lead`, async () => state === 'leading', { timeoutMs: 60_000 });
  return child;
}

/** kill -9; resolves when it is gone. */
export function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    child.once('exit', () => resolve());
    child.kill('SIGKILL');
  });
}

/** Kills the process in the very moment in which an object is seen that is as `when` says. */
export async function killWhen(
  child: ChildProcess,
  seen: { client: KubeClient; namespace: string; resource: Resource },
  when: (object: UntypedObject) => boolean,
): Promise<{ done: Promise<void> }> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const watch = new Reflector({ ...seen, logger: silent });
  const check = (object: UntypedObject) => {
    if (!when(object)) return;
    child.kill('SIGKILL');
    resolve();
  };
  watch.addHandlers({ added: check, updated: check, deleted: () => {} });
  watch.start();
  await watch.waitForSync(AbortSignal.timeout(60_000));
  return { done: promise.then(() => watch.stop()).then(() => kill(child)) };
}
