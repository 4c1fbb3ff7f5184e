/** The mount, network and process namespaces of a node. They end together with one process, and all their processes too. */
import { copyFileSync, existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { assertRunning, type ProcessSpec, runningPid, startProcess } from '../processes.ts';
import { waitFor } from '../wait.ts';
import { NODE_ADDRESS } from './addresses.ts';

/** Name of the process that creates them. */
export const NAMESPACES = 'namespaces';

const script = join(dirname(fileURLToPath(import.meta.url)), 'init.sh');

/** Creates the namespaces of the node of `stateDir`, and waits until mounts and network exist. */
export async function makeNamespaces(stateDir: string): Promise<void> {
  const copy = join(stateDir, 'init.sh');
  copyFileSync(script, copy);
  const own = [
    '--mount',
    '--propagation',
    'private',
    '--net',
    '--pid',
    '--fork',
    '--mount-proc',
    '--kill-child',
  ];
  await startProcess(stateDir, {
    name: NAMESPACES,
    command: 'unshare',
    args: [...own, '--', 'sh', copy, `${stateDir}/`, NODE_ADDRESS],
  });
  await waitFor('the namespaces', async () => existsSync(join(stateDir, 'inside.ready')), {
    timeoutMs: 30_000,
    giveUpIf: () => assertRunning(stateDir, [NAMESPACES]),
  });
}

/** The nsenter arguments that run a command in the namespaces. @throws Error if the namespaces have ended */
export function enter(stateDir: string): string[] {
  const maker = runningPid(stateDir, NAMESPACES);
  const children = maker && readFileSync(`/proc/${maker}/task/${maker}/children`, 'utf8').trim();
  const [init] = (children || '').split(' ');
  if (!init) throw new Error(`failed to enter the namespaces of ${stateDir}: they have ended`);
  return ['--target', init, '--mount', '--net', '--pid', '--'];
}

/** The process specification, changed to run in the namespaces. */
export function inside(stateDir: string, spec: ProcessSpec): ProcessSpec {
  return { ...spec, command: 'nsenter', args: [...enter(stateDir), spec.command, ...spec.args] };
}
