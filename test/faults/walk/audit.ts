import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';

/** One request, as the API server's audit log tells of it. */
export interface AuditLine {
  readonly verb: string;
  readonly requestURI: string;
  readonly user: { readonly username: string };
  readonly objectRef?: { readonly namespace?: string; readonly name?: string; readonly resource?: string };
  readonly responseStatus?: { readonly code?: number; readonly message?: string };
  readonly requestReceivedTimestamp: string;
}

/**
 * Answers that Berth's own way of writing reckons with: not there (any more), there already or changed meanwhile, a watch
 * that is too old, too much at once, not now, not in time.
 */
const ORDINARY: ReadonlySet<number> = new Set([404, 409, 410, 429, 503, 504]);
/**
 * An apply that it cannot type (a key of a list twice, a field that is none) the API server refuses with 500 and no
 * reason, as it answers when somebody went away, or etcd was late: only the message tells these apart.
 */
const PASSING =
  /^(context canceled|context deadline exceeded|etcdserver: (leader changed|no leader|request timed out.*))$/;
const BERTH = /:berth-(operator|listener)$/;

/** A request of Berth that the API server refused: none of them is to be, also where another try or another way hides it. */
export interface RefusedRequest {
  /** Of the object; empty: of a list. */
  readonly object: string;
  readonly message: string;
}

/**
 * What operator and listener have asked for, a line each; the log of a long walk is longer than a string may be.
 * @param from bytes that are passed over
 */
export async function* berthRequests(auditLogPath: string, from = 0): AsyncGenerator<AuditLine> {
  const lines = createInterface({ input: createReadStream(auditLogPath, { start: from }) });
  for await (const text of lines) {
    const line = text.includes(':berth-') ? parsed(text) : undefined;
    if (line !== undefined && BERTH.test(line.user.username)) yield line;
  }
}

/** The first may begin in its middle, and the last be half written. */
function parsed(text: string): AuditLine | undefined {
  try {
    return JSON.parse(text) as AuditLine;
  } catch {
    return undefined;
  }
}

/** Of a whole walk in one namespace; the same refusal is told once. */
export async function refusedRequests(auditLogPath: string, namespace: string): Promise<RefusedRequest[]> {
  const found = new Map<string, RefusedRequest>();
  for await (const line of berthRequests(auditLogPath)) {
    const { verb, requestURI, user, objectRef, responseStatus } = line;
    const { code = 0, message = '' } = responseStatus ?? {};
    if (objectRef?.namespace !== namespace) continue;
    if (code < 400 || ORDINARY.has(code) || (code === 500 && PASSING.test(message))) continue;
    const told = `${user.username} ${verb} ${requestURI}: ${code} ${message}`;
    found.set(told, { object: objectRef.name ?? '', message: told });
  }
  return [...found.values()];
}
