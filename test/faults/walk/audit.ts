import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';

/** Reads the audit log of the API server. One line describes one request. */
export interface AuditLine {
  readonly verb: string;
  readonly requestURI: string;
  readonly user: { readonly username: string };
  readonly objectRef?: { readonly namespace?: string; readonly name?: string; readonly resource?: string };
  readonly responseStatus?: { readonly code?: number; readonly message?: string };
  readonly requestReceivedTimestamp: string;
}

/**
 * Statuses that Berth's code expects: the object does not exist, exists already or has changed meanwhile, a watch is too old,
 * a rate limit, the server is unavailable or too slow.
 */
const ORDINARY: ReadonlySet<number> = new Set([404, 409, 410, 429, 503, 504]);
/**
 * Messages of a 500 that are expected: a disconnected caller or a slow etcd. The API server also answers an apply that it
 * cannot type (a duplicate key of a list, an unknown field) with 500 and no reason. Only the message distinguishes these.
 */
const PASSING =
  /^(context canceled|context deadline exceeded|etcdserver: (leader changed|no leader|request timed out.*))$/;
const BERTH = /:berth-(operator|listener)$/;

/** A request of Berth that the API server rejected. None may occur, even if a retry or another request succeeded. */
export interface RejectedRequest {
  /** Name of the object. Empty for a list. */
  readonly object: string;
  readonly message: string;
}

/**
 * The requests of operator and listener, line by line, because the log of a long walk is too large for a string.
 * @param from number of bytes to skip
 */
export async function* berthRequests(auditLogPath: string, from = 0): AsyncGenerator<AuditLine> {
  const lines = createInterface({ input: createReadStream(auditLogPath, { start: from }) });
  for await (const text of lines) {
    const line = text.includes(':berth-') ? parsed(text) : undefined;
    if (line !== undefined && BERTH.test(line.user.username)) yield line;
  }
}

/** The first line may begin in its middle, and the last one may be incomplete. */
function parsed(text: string): AuditLine | undefined {
  try {
    return JSON.parse(text) as AuditLine;
  } catch {
    return undefined;
  }
}

/** The rejected requests of a walk in this namespace. Equal ones are reported once. */
export async function rejectedRequests(auditLogPath: string, namespace: string): Promise<RejectedRequest[]> {
  const found = new Map<string, RejectedRequest>();
  for await (const line of berthRequests(auditLogPath)) {
    const { verb, requestURI, user, objectRef, responseStatus } = line;
    const { code = 0, message = '' } = responseStatus ?? {};
    if (objectRef?.namespace !== namespace) continue;
    if (code < 400 || ORDINARY.has(code) || (code === 500 && PASSING.test(message))) continue;
    const text = `${user.username} ${verb} ${requestURI}: ${code} ${message}`;
    found.set(text, { object: objectRef.name ?? '', message: text });
  }
  return [...found.values()];
}
