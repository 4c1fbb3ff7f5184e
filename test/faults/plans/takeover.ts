/** Pauses a process at one of its writes, past its lease, and resumes it when another process has taken over. */
import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { waitFor } from '../../cluster/wait.ts';
import { hubEffect, kubernetesEffect } from '../effects.ts';
import type { HttpOutcome, HttpRequest } from '../proxies/http-traffic.ts';
import type { KubernetesRequest } from '../proxies/kubernetes-traffic.ts';
import { SETTLED_MS } from '../record.ts';
import type { FaultRole, FaultWorld, RoleProcess } from '../world.ts';

/** A lease of the operator expires after 15 s, one of the listener after 20 s. The rest is for a busy machine. */
const TAKEN_OVER_MS = 60_000;
/** Time that a resumed process has for wrong writes before the oracles check. */
const RESUMED_MS = 3_000;
const STALLED_MS = 30_000;
const STALL = fileURLToPath(new URL('../preload/stall.ts', import.meta.url));

/** The holder of the lease: of the Lease object, or of the lease at the hub. */
export async function leaderOf(world: FaultWorld, role: FaultRole): Promise<string> {
  if (role === 'listener') {
    const [row] = await world.sql<{ holder: string | null }>('SELECT lease_holder AS holder FROM listeners');
    return row?.holder ?? '';
  }
  const lease = ['-n', world.ownNamespace, 'get', 'lease', 'berth-operator'];
  return (await world.kubectl(...lease, '-o', 'jsonpath={.spec.holderIdentity}')).trim();
}

/** Whether the process holds the lease. The holder's name contains host, process id and a random part. */
export const isHeldBy = (holder: string, { pid }: RoleProcess) => holder.includes(`_${pid}_`);

/** Resolves when the process holds the lease. @throws Error after `timeoutMs` */
export function untilLeads(
  world: FaultWorld,
  leader: RoleProcess,
  bound = { timeoutMs: TAKEN_OVER_MS, intervalMs: 100 },
): Promise<true> {
  const leads = async () => isHeldBy(await leaderOf(world, leader.role), leader) || undefined;
  return waitFor(`${leader.name} to lead`, leads, bound);
}

/** A write of the resumed process. */
export interface LateWrite {
  /** The effect and the status of the response. */
  readonly line: string;
  /** The write at which the process was paused. */
  readonly isHeld: boolean;
  readonly isAccepted: boolean;
}

export interface PausedProcess {
  /** Resolves when the process is paused. */
  readonly paused: Promise<unknown>;
  /** Sends the held write, resumes the process and gives it time. Resolves with its writes since then. */
  resume(): Promise<readonly LateWrite[]>;
  /** Outcome of the held write. Undefined if it has not ended. */
  outcome(): HttpOutcome | undefined;
}

function writesSince(world: FaultWorld, role: FaultRole, from: number): LateWrite[] {
  return world.kubernetes
    .exchanges(role)
    .filter(({ at, endedAt }) => at >= from || endedAt >= from)
    .flatMap((exchange) => {
      const effect = kubernetesEffect(exchange);
      if (effect === undefined || effect === 'tell events') return [];
      const { at, upstreamStatus: status } = exchange;
      const isAccepted = status >= 200 && status < 300;
      return [{ line: `${effect}: ${status}`, isHeld: at < from, isAccepted }];
    });
}

/**
 * Stops the process (SIGSTOP) at a write.
 * @param when `before`: the write is sent when the process is resumed; `after`: only its response is held
 */
export function pauseAt(
  world: FaultWorld,
  role: FaultRole,
  what: string,
  when: 'before' | 'after' = 'before',
): PausedProcess {
  const { promise: free, resolve: release } = Promise.withResolvers<void>();
  const { promise: paused, resolve: isPaused } = Promise.withResolvers<void>();
  const process = world.process(role);
  let seq: number | undefined;
  const run = async (request: HttpRequest) => {
    ({ seq } = request);
    process.signal('SIGSTOP');
    isPaused();
    await free;
  };
  const isHub = what.startsWith('post ');
  const rule = { fault: { kind: when, run }, times: 1 } as const;
  if (isHub) world.hub.add({ ...rule, match: (call) => call.client === role && hubEffect(call) === what });
  else
    world.kubernetes.add({
      ...rule,
      match: (request: KubernetesRequest) => request.client === role && kubernetesEffect(request) === what,
    });
  return {
    paused,
    resume: async () => {
      const from = Date.now();
      // The worst order: the write is sent while the process is still stopped.
      release();
      await sleep(SETTLED_MS);
      process.signal('SIGCONT');
      await sleep(RESUMED_MS);
      return writesSince(world, role, from);
    },
    outcome: () => {
      const exchanges = isHub ? world.hub.exchanges(role) : world.kubernetes.exchanges(role);
      return exchanges.find((exchange) => exchange.seq === seq);
    },
  };
}

/** Restarts the role so that it can stall in its own code, between two writes. */
export async function stallable(
  world: FaultWorld,
  role: FaultRole,
): Promise<(answer: string) => Omit<PausedProcess, 'outcome'>> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-stall-'));
  const file = join(folder, 'at');
  await world.restart(role, { settings: { NODE_OPTIONS: `--import=${STALL}`, FAULTS_STALL: file } });
  /** @param answer start of the response of the API server at which it stalls */
  return (answer) => {
    // Renamed, so that the process never reads a part of the text.
    writeFileSync(`${file}.new`, answer);
    renameSync(`${file}.new`, file);
    return {
      paused: waitFor(`the ${role} to stall`, async () => existsSync(`${file}.stalled`) || undefined, {
        timeoutMs: STALLED_MS,
        intervalMs: 20,
      }),
      resume: async () => {
        const from = Date.now();
        rmSync(folder, { recursive: true });
        await sleep(RESUMED_MS);
        return writesSince(world, role, from).filter(({ isHeld }) => !isHeld);
      },
    };
  };
}
