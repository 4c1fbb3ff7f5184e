/** Creates the floor of a request from the statements that Berth sends for it, and starts it. */
import { fileURLToPath } from 'node:url';
import type { BenchContext } from '../bench.ts';
import { startFloorProgram } from './floor-process.ts';
import { mostCommon, type RecordedRequest, type Script, toScript } from './floor-script.ts';
import type { FloorRoute, FloorSettings } from './floor-server.ts';
import { type ApiProcess, type BenchHub, POOL_SIZE } from './hub.ts';
import { recordStatements, type StatementRecorder } from './statement-recorder.ts';

const SERVER = fileURLToPath(new URL('floor-server.ts', import.meta.url));
/** Number of recorded requests. Background statements of the server may occur in less than half of them. */
const RECORDED = 7;

/** A request whose statements are recorded. */
export interface ProbedRequest {
  readonly name: string | null;
  readonly pathId: string | null;
  /** Sends the request. */
  send(): Promise<unknown>;
}

/** Sends requests one after the other, and records the statements of each. The first request is for warm-up only. */
export async function recordRequests(
  recorder: StatementRecorder,
  request: (index: number) => ProbedRequest,
): Promise<RecordedRequest[]> {
  const recorded: RecordedRequest[] = [];
  for (let index = 0; index <= RECORDED; index += 1) {
    const { name, pathId, send } = request(index);
    recorder.take();
    await send();
    if (index > 0) recorded.push({ name, pathId, statements: recorder.take() });
    else recorder.take();
  }
  return mostCommon(recorded);
}

/** Berth's statements for a request, from a separate process with one connection. */
export async function scriptOf(
  hub: BenchHub,
  request: (api: ApiProcess, index: number) => ProbedRequest,
): Promise<Script> {
  const recorder = await recordStatements(hub.databaseUrl);
  try {
    const api = await hub.startApi('recorded', { DATABASE_URL: recorder.url, BERTH_DATABASE_POOL: '1' });
    const [first, second] = await recordRequests(recorder, (index) => request(api, index));
    await api.stop();
    if (first === undefined || second === undefined)
      throw new Error('failed to make a floor: no two requests led to the same statements');
    return toScript(first, second);
  } finally {
    await recorder.stop();
  }
}

/** Starts the floor of some requests. */
export async function startFloor(
  context: Pick<BenchContext, 'profiles'>,
  { stateDir, databaseUrl, ...database }: Pick<BenchHub, 'stateDir' | 'databaseUrl' | 'tenantId'>,
  routes: readonly FloorRoute[],
): Promise<ApiProcess> {
  const tenantId = await database.tenantId();
  const settings: FloorSettings = { databaseUrl, tenantId, poolSize: POOL_SIZE, routes };
  const program = { name: 'floor', server: SERVER, settings: JSON.stringify(settings) };
  return startFloorProgram(context, { stateDir }, program);
}

/** Maximum difference in the size of the responses, as a share. Names and times differ in length. */
const SIZE_TOLERANCE = 0.02;

/** @throws Error if the sizes of the responses differ too much */
export async function checkSizes(ours: Promise<unknown>, floor: Promise<unknown>): Promise<void> {
  const [own, other] = (await Promise.all([ours, floor])).map((answer) => JSON.stringify(answer).length);
  if (own === undefined || other === undefined || Math.abs(own - other) > own * SIZE_TOLERANCE)
    throw new Error(`failed to make a floor: its response has ${other} characters, that of Berth ${own}`);
}
