import { readFileSync } from 'node:fs';

/** One request, as the API server's audit log tells of it. */
interface AuditLine {
  readonly verb: string;
  readonly requestURI: string;
  readonly user: { readonly username: string };
  readonly objectRef?: { readonly namespace?: string; readonly name?: string };
  readonly responseStatus?: { readonly code?: number; readonly message?: string };
}

/**
 * Answers that Berth's own way of writing reckons with: not there (any more), there already or changed meanwhile, a watch
 * that is too old, too much at once.
 */
const ORDINARY: ReadonlySet<number> = new Set([404, 409, 410, 429]);
const BERTH = /:berth-(operator|listener)$/;

/** A request of Berth that the API server refused: none of them is to be, also where another try or another way hides it. */
export interface RefusedRequest {
  /** Of the object; empty: of a list. */
  readonly object: string;
  readonly message: string;
}

/** Of a whole walk in one namespace; the same refusal is told once. */
export function refusedRequests(auditLogPath: string, namespace: string): RefusedRequest[] {
  const found = new Map<string, RefusedRequest>();
  // The last one may be half written.
  for (const text of readFileSync(auditLogPath, 'utf8').split('\n').slice(0, -1)) {
    if (!text.includes(namespace)) continue;
    const { verb, requestURI, user, objectRef, responseStatus } = JSON.parse(text) as AuditLine;
    const { code = 0, message = '' } = responseStatus ?? {};
    if (!BERTH.test(user.username) || objectRef?.namespace !== namespace) continue;
    if (code < 400 || code >= 500 || ORDINARY.has(code)) continue;
    const told = `${user.username} ${verb} ${requestURI}: ${code} ${message}`;
    found.set(told, { object: objectRef.name ?? '', message: told });
  }
  return [...found.values()];
}
