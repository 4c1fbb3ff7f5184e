/** Starts the floor of the bench of streams of changes. */
import { fileURLToPath } from 'node:url';
import type { BenchContext } from '../bench.ts';
import { startFloorProgram } from './floor-process.ts';
import type { ApiProcess, BenchHub } from './hub.ts';

const SERVER = fileURLToPath(new URL('watch-floor-server.ts', import.meta.url));

export const startWatchFloor = (
  context: Pick<BenchContext, 'profiles'>,
  hub: Pick<BenchHub, 'stateDir' | 'databaseUrl'>,
): Promise<ApiProcess> =>
  startFloorProgram(context, hub, { name: 'watch-floor', server: SERVER, settings: hub.databaseUrl });
