/** A process that stands still between two of its own writes, and goes on when another one has taken over. */
import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { waitFor } from '../../cluster/wait.ts';
import { kubernetesEffect } from '../effects.ts';
import type { FaultPlan, Violation } from '../plan.ts';
import { SETTLED_MS } from '../record.ts';
import { callUntilSuccess } from '../retrying-client.ts';
import { workloadNamed } from '../workloads.ts';
import type { FaultRole, FaultWorld } from '../world.ts';
import { OTHER_CEILING, SCALED, untilGone, writtenByFormer } from './paused-process.ts';
import { untilLeads } from './replaced-process.ts';
import { change, idOf, runningDeployment } from './steps.ts';

const STALL = fileURLToPath(new URL('../preload/stall.ts', import.meta.url));
const STALLED_MS = 30_000;
/** The one that goes on may do its worst for so long. */
const AWAKE_MS = 3_000;

interface Stall {
  /** From now on it stalls at an answer of the API server that begins so. */
  arm(answer: string): void;
  /** Resolves when it stands still. */
  untilStalled(): Promise<unknown>;
  /** Lets it go on, and gives it time. Resolves with what it has written since. */
  goOn(): Promise<readonly string[]>;
}

/** Starts the role anew, so that it can be made to stall. */
async function stallable(world: FaultWorld, role: FaultRole): Promise<Stall> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-stall-'));
  const file = join(folder, 'at');
  const stalled = `${file}.stalled`;
  await world.restart(role, { settings: { NODE_OPTIONS: `--import=${STALL}`, FAULTS_STALL: file } });
  return {
    arm: (answer) => {
      // There with its text, or not at all.
      writeFileSync(`${file}.new`, answer);
      renameSync(`${file}.new`, file);
    },
    untilStalled: () =>
      waitFor(`the ${role} to stall`, async () => existsSync(stalled) || undefined, {
        timeoutMs: STALLED_MS,
        intervalMs: 20,
      }),
    goOn: async () => {
      const from = Date.now();
      rmSync(folder, { recursive: true });
      await sleep(AWAKE_MS);
      return world.kubernetes.exchanges(role).flatMap((exchange) => {
        const effect = exchange.at >= from ? kubernetesEffect(exchange) : undefined;
        return effect === undefined || effect === 'tell events'
          ? []
          : [`${effect}: ${exchange.upstreamStatus}`];
      });
    },
  };
}

const stalledOperator: FaultPlan = {
  name: 'two-of-each/operator/stalled',
  says: 'The operator stands still in its own code when its apply was answered, until another leads and has done the rest; it goes on, and writes nothing more.',
  deadlineSeconds: 240,
  run: async (world): Promise<Violation[]> => {
    const stall = await stallable(world, 'operator');
    const { id } = await runningDeployment(world, SCALED.source_config.resource_spec);
    const successor = await world.start('operator', 'operator-2');
    stall.arm('{"kind":"Deployment"');
    await change(world, id, OTHER_CEILING);
    await stall.untilStalled();
    await untilLeads(world, successor);
    await world.ready(id);
    await world.quiet({ forMs: SETTLED_MS });
    const more = await stall.goOn();
    await world.restart('operator');
    return more.map(writtenByFormer);
  },
};

const create = workloadNamed('create');

const stalledListener: FaultPlan = {
  name: 'two-of-each/listener/stalled',
  says: 'The listener stands still in its own code when its Secret was made, until another one has done the rest and all was deleted; it goes on, and writes nothing more.',
  deadlineSeconds: 240,
  run: async (world): Promise<Violation[]> => {
    const stall = await stallable(world, 'listener');
    const given = await create.prepare(world);
    const successor = await world.start('listener', 'listener-2');
    stall.arm('{"kind":"Secret"');
    const now = await create.run(world, given);
    await stall.untilStalled();
    // Nobody but its own clock will tell it.
    world.hub.cut('listener');
    await untilLeads(world, successor);
    await create.end(world, now);
    const id = idOf(now);
    await callUntilSuccess(world, 'DELETE', `/v2/deployments/${id}`);
    await untilGone(world, id);
    const more = await stall.goOn();
    world.hub.open('listener');
    await world.restart('listener');
    return more.map(writtenByFormer);
  },
};

export const stalledProcessPlans: readonly FaultPlan[] = [stalledOperator, stalledListener];
