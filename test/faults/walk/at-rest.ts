/** Checks for a minute that Berth is at rest when every deployment has settled (O5). */
import { statSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { BACKGROUND, type Beat, faster, isKubernetesHeartbeat, kubernetesBeat } from '../heartbeats.ts';
import { linesSince, type Seen, withoutPeriodicChecks } from '../oracles/quiescence.ts';
import type { KubernetesVerb } from '../proxies/kubernetes-traffic.ts';
import { type AuditLine, berthRequests } from './audit.ts';
import type { Issue } from './effects.ts';
import type { OwnWorld } from './world.ts';

const REST_MS = 60_000;
/** PostgreSQL updates its statistics up to 10 s after a write. */
const FIRST_MS = 15_000;
const WITHIN_MS = 90_000;

/** Tables that are written periodically, or with each call (the last use of an API key). */
const ORDINARY_TABLES: ReadonlySet<string> = new Set([...BACKGROUND, 'api_keys']);

type RestingWorld = Pick<OwnWorld, 'auditLogPath' | 'tableWrites'>;

/** A request of the audit log, in the form that the proxies of the other plans use. */
function requestOf({
  verb,
  requestURI,
  user,
  objectRef,
  responseStatus,
  requestReceivedTimestamp,
}: AuditLine) {
  return {
    at: Date.parse(requestReceivedTimestamp),
    client: user.username.replace(/^.*:berth-/, ''),
    verb: verb as KubernetesVerb,
    resource: objectRef?.resource ?? '',
    name: objectRef?.name ?? '',
    path: requestURI.replace(/(?<=[?&])resourceVersion=\d+&?/, ''),
    code: responseStatus?.code ?? 0,
  };
}

/** Requests to the API server since `from`, and heartbeats above their maximum rate. */
async function requestsSince(auditLogPath: string, position: number, from: number): Promise<Seen[]> {
  const seen: Seen[] = [];
  const beats: Beat[] = [];
  for await (const line of berthRequests(auditLogPath, position)) {
    const request = requestOf(line);
    if (request.at < from) continue;
    const { at, client, verb, path, code } = request;
    if (isKubernetesHeartbeat(request)) beats.push(kubernetesBeat(request));
    else seen.push({ at, what: `${client}: ${verb} ${path} ${code}`, isPeriodic: verb === 'list' });
  }
  const now = Date.now();
  const tooOften = faster(beats, (now - from) / 1000).map((what) => ({ at: now, what, isPeriodic: false }));
  return [...seen, ...tooOften];
}

/** Tables with rows written between two counts. */
function writtenSince(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): Seen[] {
  return [...after]
    .map(([table, rows]) => ({ table, rows: rows - (before.get(table) ?? 0) }))
    .filter(({ table, rows }) => rows > 0 && !ORDINARY_TABLES.has(table))
    .map(({ table, rows }) => ({
      at: Date.now(),
      what: `${rows} rows written to ${table}`,
      isPeriodic: false,
    }));
}

/** Records the activity of Berth during this time. */
async function observe({ auditLogPath, tableWrites }: RestingWorld, ms: number, signal: AbortSignal) {
  const [from, position, before] = [Date.now(), statSync(auditLogPath).size, await tableWrites()];
  await delay(ms, undefined, { signal });
  const seen = await requestsSince(auditLogPath, position, from);
  return { from, seen: [...seen, ...writtenSince(before, await tableWrites())] };
}

/** Waits until Berth is at rest, and then checks for a minute that it stays at rest. */
export async function unrest(world: RestingWorld, signal: AbortSignal): Promise<Issue[]> {
  const deadline = Date.now() + WITHIN_MS;
  for (;;) {
    const { from, seen } = await observe(world, FIRST_MS, signal);
    if (seen.length === 0) break;
    if (Date.now() > deadline)
      return issues(`not at rest within ${WITHIN_MS / 1000} s`, linesSince(from, seen));
  }
  const { from, seen } = await observe(world, REST_MS, signal);
  return issues(`not at rest for ${REST_MS / 1000} s`, linesSince(from, withoutPeriodicChecks(seen)));
}

const issues = (message: string, lines: readonly string[]): Issue[] =>
  lines.length === 0 ? [] : [{ message: `${message}: ${lines[0]}`, diff: [...lines] }];
