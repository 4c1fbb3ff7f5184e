/** Starts the floor of the bench of streams of changes. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  assertRunning,
  logPath,
  runningPid,
  startProcess,
  stopProcess,
  tailOfLog,
} from '../../cluster/processes.ts';
import { waitFor } from '../../cluster/wait.ts';
import { compileCache, podEnvironment } from '../../installation/berth-process.ts';
import type { BenchContext } from '../bench.ts';
import { profiled } from '../profiles.ts';
import type { ApiProcess, BenchHub } from './hub.ts';

const SERVER = fileURLToPath(new URL('watch-floor-server.ts', import.meta.url));

export async function startWatchFloor(
  context: Pick<BenchContext, 'profiles'>,
  { stateDir, databaseUrl }: Pick<BenchHub, 'stateDir' | 'databaseUrl'>,
): Promise<ApiProcess> {
  const name = 'watch-floor';
  const env = profiled(context, name, { ...process.env, ...compileCache(), ...podEnvironment('api') });
  const file = join(stateDir, 'watch-floor.url');
  writeFileSync(file, databaseUrl, { mode: 0o600 });
  await startProcess(stateDir, { name, command: process.execPath, args: [SERVER, file], env });
  const url = await waitFor(
    'the floor to be ready',
    async () => /"floor is ready","url":"([^"]+)"/.exec(tailOfLog(stateDir, name, 5))?.[1],
    { timeoutMs: 30_000, giveUpIf: () => assertRunning(stateDir, [name]) },
  );
  const pid = runningPid(stateDir, name);
  if (pid === undefined) throw new Error(`failed to start the floor: see ${logPath(stateDir, name)}`);
  return { url, pid, stop: () => stopProcess(stateDir, name) };
}
