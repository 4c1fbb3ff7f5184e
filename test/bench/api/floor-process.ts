/** Starts the program of a floor of the API. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
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

export interface FloorProgram {
  /** Name of the process. */
  readonly name: string;
  /** Path of the program. Its argument is a file with its settings. */
  readonly server: string;
  /** The content of that file. It contains the address of the database, so only this user can read it. */
  readonly settings: string;
}

/** Starts a floor, which stops with the hub. If Berth is profiled, the floor is profiled too, for a comparison. */
export async function startFloorProgram(
  context: Pick<BenchContext, 'profiles'>,
  { stateDir }: Pick<BenchHub, 'stateDir'>,
  { name, server, settings }: FloorProgram,
): Promise<ApiProcess> {
  const file = join(stateDir, `${name}.settings`);
  writeFileSync(file, settings, { mode: 0o600 });
  const env = profiled(context, name, { ...process.env, ...compileCache(), ...podEnvironment('api') });
  await startProcess(stateDir, { name, command: process.execPath, args: [server, file], env });
  const url = await waitFor(
    'the floor to be ready',
    async () => /"floor is ready","url":"([^"]+)"/.exec(tailOfLog(stateDir, name, 5))?.[1],
    { timeoutMs: 30_000, giveUpIf: () => assertRunning(stateDir, [name]) },
  );
  const pid = runningPid(stateDir, name);
  if (pid === undefined) throw new Error(`failed to start the floor: see ${logPath(stateDir, name)}`);
  return { url, pid, stop: () => stopProcess(stateDir, name) };
}
