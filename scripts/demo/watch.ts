import { setTimeout as delay } from 'node:timers/promises';
import { callApi } from './samples.ts';
import type { DemoStack } from './stack.ts';

interface Row {
  id: string;
  name: string;
  source: string;
  status: string;
  latest_revision_id: string | null;
  active_revision_id: string | null;
  conditions: { type: string; status: string; reason: string; message: string }[];
}

export interface WatchOutcome {
  ready: boolean;
  /** For each deployment that is not ready, the condition that it waits for. */
  reasons: string[];
}

const isReady = (row: Row) =>
  row.status === 'READY' &&
  row.latest_revision_id !== null &&
  row.active_revision_id === row.latest_revision_id;

/** Why a deployment is not READY yet: its first condition that is not True. */
function reasonOf(row: Row): string {
  const waiting = row.conditions.find(
    (condition) => condition.status !== 'True' && !['Progressing', 'Paused'].includes(condition.type),
  );
  return waiting ? `${waiting.reason}: ${waiting.message}` : 'nothing reported yet';
}

function line(row: Row): string {
  const revision = row.active_revision_id?.slice(-8) ?? '–';
  const state = isReady(row) ? 'latest revision is active' : reasonOf(row);
  return `  ${row.name.padEnd(24)} ${row.source.padEnd(15)} ${row.status.padEnd(18)} ${revision.padEnd(9)} ${state.slice(0, 110)}`;
}

/**
 * Polls the API until every deployment is READY with its latest revision active. Prints each line that has changed, so that
 * the output shows all steps to READY.
 */
export async function watchSamples(
  stack: DemoStack,
  ids: readonly string[],
  timeoutMs: number,
): Promise<WatchOutcome> {
  const started = Date.now();
  const printed = new Map<string, string>();
  console.log(`\n     t  ${'NAME'.padEnd(24)} ${'SOURCE'.padEnd(15)} ${'STATUS'.padEnd(18)} ACTIVE    WHY`);
  for (;;) {
    const { resources } = await callApi<{ resources: Row[] }>(
      stack,
      'GET',
      `/v2/deployments?limit=100&deployment_ids=${ids.join(',')}`,
    );
    for (const row of resources) {
      const text = line(row);
      if (printed.get(row.id) === text) continue;
      printed.set(row.id, text);
      console.log(`${((Date.now() - started) / 1000).toFixed(1).padStart(5)}s${text}`);
    }
    const waiting = resources.filter((row) => !isReady(row));
    if (waiting.length === 0 && resources.length === ids.length) return { ready: true, reasons: [] };
    if (Date.now() - started > timeoutMs) {
      return { ready: false, reasons: waiting.map((row) => `${row.name}: ${row.status}: ${reasonOf(row)}`) };
    }
    await delay(200);
  }
}
