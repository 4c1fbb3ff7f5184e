/** Checks for a minute that Berth is at rest when every deployment has settled (O5). */
import { statSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { BACKGROUND, type Beat, faster, isKubernetesHeartbeat, kubernetesBeat } from '../heartbeats.ts';
import { type Seen, toldSince, unrepeatedLooksLeftOut } from '../oracles/quiescence.ts';
import type { KubernetesVerb } from '../proxies/kubernetes-traffic.ts';
import { type AuditLine, berthRequests } from './audit.ts';
import type { Issue } from './effects.ts';
import type { OwnWorld } from './world.ts';

const REST_MS = 60_000;
/** PostgreSQL tells of what was written up to 10 s later. */
const FIRST_MS = 15_000;
const WITHIN_MS = 90_000;

/** Written by the clock, or with each call: when a key was used. */
const ORDINARY_TABLES: ReadonlySet<string> = new Set([...BACKGROUND, 'api_keys']);

type RestingWorld = Pick<OwnWorld, 'auditLogPath' | 'tableWrites'>;

/** A request as the proxies of the other plans have it. */
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
    path: requestURI.replace(/(?<=[?&])resourceVersion=\d+&?/, ''),
    code: responseStatus?.code ?? 0,
  };
}

/** What was asked of the API server in this time, and heartbeats that came faster than their clocks go. */
async function askedSince(auditLogPath: string, position: number, from: number): Promise<Seen[]> {
  const seen: Seen[] = [];
  const beats: Beat[] = [];
  for await (const line of berthRequests(auditLogPath, position)) {
    const request = requestOf(line);
    if (request.at < from) continue;
    const { at, client, verb, path, code } = request;
    if (isKubernetesHeartbeat(request)) beats.push(kubernetesBeat(request));
    else seen.push({ at, what: `${client}: ${verb} ${path} ${code}`, isLook: verb === 'list' });
  }
  const now = Date.now();
  const tooOften = faster(beats, (now - from) / 1000).map((what) => ({ at: now, what, isLook: false }));
  return [...seen, ...tooOften];
}

function writtenSince(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): Seen[] {
  return [...after]
    .map(([table, rows]) => ({ table, rows: rows - (before.get(table) ?? 0) }))
    .filter(({ table, rows }) => rows > 0 && !ORDINARY_TABLES.has(table))
    .map(({ table, rows }) => ({ at: Date.now(), what: `${rows} rows written in ${table}`, isLook: false }));
}

/** What Berth did in so long. */
async function look({ auditLogPath, tableWrites }: RestingWorld, ms: number, signal: AbortSignal) {
  const [from, position, before] = [Date.now(), statSync(auditLogPath).size, await tableWrites()];
  await delay(ms, undefined, { signal });
  const seen = await askedSince(auditLogPath, position, from);
  return { from, seen: [...seen, ...writtenSince(before, await tableWrites())] };
}

/** Waits until it rests, and looks for a minute whether it goes on so. */
export async function unrest(world: RestingWorld, signal: AbortSignal): Promise<Issue[]> {
  const deadline = Date.now() + WITHIN_MS;
  for (;;) {
    const { from, seen } = await look(world, FIRST_MS, signal);
    if (seen.length === 0) break;
    if (Date.now() > deadline) return issues(`no rest within ${WITHIN_MS / 1000} s`, toldSince(from, seen));
  }
  const { from, seen } = await look(world, REST_MS, signal);
  return issues(`no rest for ${REST_MS / 1000} s`, toldSince(from, unrepeatedLooksLeftOut(seen)));
}

const issues = (message: string, lines: readonly string[]): Issue[] =>
  lines.length === 0 ? [] : [{ message: `${message}: ${lines[0]}`, diff: [...lines] }];
