/**
 * The walk through the states of a spec: long sequences of changes, chosen at random from a seed, of several deployments
 * side by side. After each the cluster has to be where the record says, whichever way it went.
 */
import { readFileSync } from 'node:fs';
import type { DeploymentType } from '../../../src/domain/deployment/source.ts';
import { RESOURCE_SPEC_FIELDS } from '../../../src/domain/resource-spec/resource-spec.ts';
import { unhandledLines } from '../oracles/unhandled-errors.ts';
import { UnexpectedAnswer } from './answers.ts';
import { unrest } from './at-rest.ts';
import { refusedRequests } from './audit.ts';
import { Coverage } from './coverage.ts';
import { makePrerequisites } from './donors.ts';
import { Lane } from './lane.ts';
import type { WalkOracle, WalkResult, WalkViolation } from './result.ts';
import { type OwnWorld, startWorld, type WalkWorld } from './world.ts';

export type { WalkOracle, WalkResult, WalkViolation } from './result.ts';

export interface WalkOptions {
  readonly seed: number;
  /** Calls of all lanes together. */
  readonly steps: number;
  /** Deployments that are walked side by side. */
  readonly lanes: number;
  /** No step begins later; what was begun is looked at to its end. Absent: there is all the time. */
  readonly seconds?: number | undefined;
  readonly log: (line: string) => void;
  readonly signal: AbortSignal;
  /** Where to walk; absent: a Berth, a cluster and a PostgreSQL of its own, with WALK_SETTINGS. */
  readonly world?: WalkWorld;
}

const CHECKPOINT_EVERY = 15;
/** Of a lane: from then on a walk is a whole one, and has to have been through all that it owes. */
export const WHOLE_STEPS = 300;
/** A quarter of them at least: the others may find the lane switched off, or failed. */
const WHOLE_COMPARED = WHOLE_STEPS / CHECKPOINT_EVERY / 4;
/** Of the lanes, in turn. */
const TYPES: readonly (DeploymentType | null)[] = [null, 'dev', 'prod', 'dev_free'];

async function made<T>(world: WalkWorld, path: string, body: object): Promise<T> {
  const answer = await world.call<T>('POST', path, body);
  if (answer.status !== 201)
    throw new UnexpectedAnswer(`POST ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}

/** A tag that deployments may have; nothing of it may reach the cluster. */
async function makeTag(world: WalkWorld, run: string): Promise<string> {
  const key = await made<{ id: string }>(world, '/v2/tag-keys', { key: `walk-${run}` });
  const value = await made<{ id: string }>(world, `/v2/tag-keys/${key.id}/values`, { value: 'on' });
  return value.id;
}

/** Until the lane is to be looked at as it stands in the end. */
async function walkLane(lane: Lane, steps: number, deadline: number, signal: AbortSignal): Promise<void> {
  await lane.begin();
  for (let step = 1; step <= steps && Date.now() < deadline; step += 1) {
    signal.throwIfAborted();
    await lane.step();
    if (step % CHECKPOINT_EVERY === 0) await lane.checkpoint();
  }
  await lane.checkpoint();
  if (Date.now() >= deadline) return;
  await lane.repair();
  await lane.checkpoint();
}

/** @param atRest looks at the world when every lane has settled for the last time */
async function walkIn(
  world: WalkWorld,
  options: WalkOptions,
  atRest: () => Promise<WalkViolation[]> = async () => [],
): Promise<WalkResult> {
  const { seed, steps, lanes: count, seconds = Number.POSITIVE_INFINITY, log, signal } = options;
  const started = Date.now();
  const deadline = started + seconds * 1000;
  const run = `${seed}-${started.toString(36)}`;
  await makePrerequisites(world);
  const tagValueId = await makeTag(world, run);
  const coverage = new Coverage();
  const lanes = Array.from({ length: count }, (_, lane) => {
    const owes = RESOURCE_SPEC_FIELDS.filter((_field, index) => index % count === lane);
    const identity = { lane, type: TYPES[lane % TYPES.length] ?? null, owes };
    return new Lane({ world, seed, identity, run, tagValueId, coverage, log, signal });
  });
  await Promise.all(lanes.map((lane) => walkLane(lane, Math.ceil(steps / count), deadline, signal)));
  const restless = await atRest();
  await Promise.all(lanes.map((lane) => lane.end()));
  const sum = (of: (lane: Lane) => number) => lanes.reduce((total, lane) => total + of(lane), 0);
  const result: WalkResult = {
    seed,
    steps: sum((lane) => lane.steps),
    accepted: sum((lane) => lane.accepted),
    refused: sum((lane) => lane.refused),
    checkpoints: sum((lane) => lane.checkpoints),
    fewestCompared: Math.min(...lanes.map((lane) => lane.checkpoints)),
    unwell: lanes.filter((lane) => !lane.endedWell).length,
    shortest: Math.min(...lanes.map((lane) => lane.steps)),
    skipped: sum((lane) => lane.skipped),
    returned: sum((lane) => lane.returned),
    violations: [...lanes.flatMap((lane) => lane.violations), ...restless],
    seconds: (Date.now() - started) / 1000,
    figures: [
      ...coverage.figures(),
      `records that came back, objects compared: ${sum((lane) => lane.returned)}; checkpoints that found nothing to compare, off or failed: ${sum((lane) => lane.skipped)}`,
    ],
    missing: coverage.missing(),
  };
  const isWhole = seconds === Number.POSITIVE_INFINITY && steps / count >= WHOLE_STEPS;
  return isWhole
    ? { ...result, violations: [...result.violations, ...missingParts(result, options)] }
    : result;
}

const ofNoLane =
  ({ seed, log }: WalkOptions, oracle: WalkOracle) =>
  (message: string, diff: readonly string[] = []): WalkViolation => {
    log(`VIOLATION ${oracle} ${message}\n${diff.join('\n')}`);
    return { oracle, seed, lane: -1, step: 0, message, diff, history: [] };
  };

/** What a whole walk has not been through. */
export function missingParts(
  { missing, shortest, fewestCompared, unwell, returned }: WalkResult,
  options: WalkOptions,
): WalkViolation[] {
  return [
    ...missing,
    ...(shortest < WHOLE_STEPS ? [`a lane has made ${shortest} steps only`] : []),
    ...(fewestCompared < WHOLE_COMPARED
      ? [`of a lane ${fewestCompared} states compared with one reached directly`]
      : []),
    ...(unwell > 0 ? [`lanes that neither run in the end nor are off: ${unwell}`] : []),
    ...(returned === 0 ? ['no record has come back'] : []),
  ].map((message) => ofNoLane(options, 'whole')(message));
}

/** Settled, it rests; and what it has logged until then. */
async function restIn(world: OwnWorld, options: WalkOptions): Promise<WalkViolation[]> {
  const violation = ofNoLane(options, 'at-rest');
  options.log('all have settled: at rest?');
  const issues = await unrest(world, options.signal);
  return issues.map(({ message, diff }) => violation(message, diff));
}

/** Of the whole run (O8). */
function unhandledIn({ logPath }: OwnWorld, options: WalkOptions): WalkViolation[] {
  const lines = unhandledLines(readFileSync(logPath, 'utf8'));
  return lines.length === 0 ? [] : [ofNoLane(options, 'at-rest')(`left unhandled: ${lines[0]}`, lines)];
}

/** Refusals that only the API server has told of, with the lane whose object it was; -1: it had no name. */
async function refusedInWorld(
  { auditLogPath, namespace }: OwnWorld,
  { seed, log }: WalkOptions,
): Promise<WalkViolation[]> {
  return (await refusedRequests(auditLogPath, namespace)).map(({ object, message }): WalkViolation => {
    log(`VIOLATION not-refused ${message}`);
    const lane = Number(/^walk-\d+-[0-9a-z]+-(\d+)-/.exec(object)?.[1] ?? -1);
    return { oracle: 'not-refused', seed, lane, step: 0, message, diff: [], history: [] };
  });
}

/** Walks; violations are returned, and told through `log` as they are found. @throws when nothing can be walked at all */
export async function runWalk(options: WalkOptions): Promise<WalkResult> {
  if (options.world !== undefined) return await walkIn(options.world, options);
  const world = await startWorld(options.log);
  try {
    const result = await walkIn(world, options, () => restIn(world, options));
    const refused = await refusedInWorld(world, options);
    const violations = [...result.violations, ...refused, ...unhandledIn(world, options)];
    return { ...result, violations };
  } finally {
    await world.stop();
  }
}
