/**
 * A walk through the states of a spec: long sequences of random changes to several deployments in parallel, determined by a
 * seed. After each change, the cluster must be in the state of the record, regardless of the previous changes.
 */
import { readFileSync } from 'node:fs';
import type { DeploymentType } from '../../../src/domain/deployment/source.ts';
import { RESOURCE_SPEC_FIELDS } from '../../../src/domain/resource-spec/resource-spec.ts';
import { unhandledLines } from '../oracles/unhandled-errors.ts';
import { UnexpectedAnswer } from './answers.ts';
import { unrest } from './at-rest.ts';
import { rejectedRequests } from './audit.ts';
import { Coverage } from './coverage.ts';
import { makePrerequisites } from './donors.ts';
import { Lane } from './lane.ts';
import type { WalkOracle, WalkResult, WalkViolation } from './result.ts';
import { type OwnWorld, startWorld, type WalkWorld } from './world.ts';

export type { WalkOracle, WalkResult, WalkViolation } from './result.ts';

/** Options of a walk. */
export interface WalkOptions {
  readonly seed: number;
  /** Number of calls of all lanes together. */
  readonly steps: number;
  /** Number of deployments that are changed in parallel. */
  readonly lanes: number;
  /** No step starts after this time. Steps in progress are completed. Absent: no limit. */
  readonly seconds?: number | undefined;
  readonly log: (line: string) => void;
  readonly signal: AbortSignal;
  /** The world to use. Absent: starts Berth, a cluster and PostgreSQL, with WALK_SETTINGS. */
  readonly world?: WalkWorld;
}

const CHECKPOINT_EVERY = 15;
/** Steps of a lane from which on the walk counts as complete, and must have covered everything. */
export const WHOLE_STEPS = 300;
/** Minimum number of comparisons: a quarter of the checkpoints. At the others, the lane may be switched off or failed. */
const WHOLE_COMPARED = WHOLE_STEPS / CHECKPOINT_EVERY / 4;
/** Deployment types, which the lanes use in turn. */
const TYPES: readonly (DeploymentType | null)[] = [null, 'dev', 'prod', 'dev_free'];

async function created<T>(world: WalkWorld, path: string, body: object): Promise<T> {
  const answer = await world.call<T>('POST', path, body);
  if (answer.status !== 201)
    throw new UnexpectedAnswer(`POST ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}

/** Creates a tag for deployments. It must have no effect in the cluster. */
async function makeTag(world: WalkWorld, run: string): Promise<string> {
  const key = await created<{ id: string }>(world, '/v2/tag-keys', { key: `walk-${run}` });
  const value = await created<{ id: string }>(world, `/v2/tag-keys/${key.id}/values`, { value: 'on' });
  return value.id;
}

/** Makes the steps of a lane, and finally compares its last state. */
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

/** @param atRest checks the world after every lane has settled */
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
    const requiredFields = RESOURCE_SPEC_FIELDS.filter((_field, index) => index % count === lane);
    const identity = { lane, type: TYPES[lane % TYPES.length] ?? null, requiredFields };
    return new Lane({ world, seed, identity, run, tagValueId, coverage, log, signal });
  });
  await Promise.all(lanes.map((lane) => walkLane(lane, Math.ceil(steps / count), deadline, signal)));
  const activity = await atRest();
  await Promise.all(lanes.map((lane) => lane.end()));
  const sum = (of: (lane: Lane) => number) => lanes.reduce((total, lane) => total + of(lane), 0);
  const result: WalkResult = {
    seed,
    steps: sum((lane) => lane.steps),
    accepted: sum((lane) => lane.accepted),
    rejected: sum((lane) => lane.rejected),
    checkpoints: sum((lane) => lane.checkpoints),
    fewestCompared: Math.min(...lanes.map((lane) => lane.checkpoints)),
    unhealthy: lanes.filter((lane) => !lane.endedWell).length,
    shortest: Math.min(...lanes.map((lane) => lane.steps)),
    skipped: sum((lane) => lane.skipped),
    returned: sum((lane) => lane.returned),
    violations: [...lanes.flatMap((lane) => lane.violations), ...activity],
    seconds: (Date.now() - started) / 1000,
    figures: [
      ...coverage.figures(),
      `records that returned and were compared: ${sum((lane) => lane.returned)}; checkpoints without a comparison (switched off or failed): ${sum((lane) => lane.skipped)}`,
    ],
    missing: coverage.missing(),
  };
  const isWhole = seconds === Number.POSITIVE_INFINITY && steps / count >= WHOLE_STEPS;
  return isWhole
    ? { ...result, violations: [...result.violations, ...missingParts(result, options)] }
    : result;
}

const violationOfWalk =
  ({ seed, log }: WalkOptions, oracle: WalkOracle) =>
  (message: string, diff: readonly string[] = []): WalkViolation => {
    log(`VIOLATION ${oracle} ${message}\n${diff.join('\n')}`);
    return { oracle, seed, lane: -1, step: 0, message, diff, history: [] };
  };

/** What a complete walk has not covered. */
export function missingParts(
  { missing, shortest, fewestCompared, unhealthy, returned }: WalkResult,
  options: WalkOptions,
): WalkViolation[] {
  return [
    ...missing,
    ...(shortest < WHOLE_STEPS ? [`a lane has made only ${shortest} steps`] : []),
    ...(fewestCompared < WHOLE_COMPARED
      ? [`only ${fewestCompared} states of a lane were compared with a fresh deployment`]
      : []),
    ...(unhealthy > 0 ? [`lanes that are neither ready nor switched off in the end: ${unhealthy}`] : []),
    ...(returned === 0 ? ['no record has returned'] : []),
  ].map((message) => violationOfWalk(options, 'whole')(message));
}

/** Checks that Berth is at rest after all lanes have settled. */
async function restIn(world: OwnWorld, options: WalkOptions): Promise<WalkViolation[]> {
  const violation = violationOfWalk(options, 'at-rest');
  options.log('all lanes have settled; checking that Berth is at rest');
  const issues = await unrest(world, options.signal);
  return issues.map(({ message, diff }) => violation(message, diff));
}

/** Unhandled errors in the log of the whole walk (O8). */
function unhandledIn({ logPath }: OwnWorld, options: WalkOptions): WalkViolation[] {
  const lines = unhandledLines(readFileSync(logPath, 'utf8'));
  return lines.length === 0 ? [] : [violationOfWalk(options, 'at-rest')(`unhandled: ${lines[0]}`, lines)];
}

/** Rejections in the audit log, each with the lane of its object. The lane is -1 if the request has no name. */
async function rejectedInWorld(
  { auditLogPath, namespace }: OwnWorld,
  { seed, log }: WalkOptions,
): Promise<WalkViolation[]> {
  return (await rejectedRequests(auditLogPath, namespace)).map(({ object, message }): WalkViolation => {
    log(`VIOLATION not-rejected ${message}`);
    const lane = Number(/^walk-\d+-[0-9a-z]+-(\d+)-/.exec(object)?.[1] ?? -1);
    return { oracle: 'not-rejected', seed, lane, step: 0, message, diff: [], history: [] };
  });
}

/** Runs a walk. Violations are logged and returned. @throws Error if the walk cannot start */
export async function runWalk(options: WalkOptions): Promise<WalkResult> {
  if (options.world !== undefined) return await walkIn(options.world, options);
  const world = await startWorld(options.log);
  try {
    const result = await walkIn(world, options, () => restIn(world, options));
    const rejected = await rejectedInWorld(world, options);
    const violations = [...result.violations, ...rejected, ...unhandledIn(world, options)];
    return { ...result, violations };
  } finally {
    await world.stop();
  }
}
