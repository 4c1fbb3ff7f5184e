/** Recorded responses to LIST requests. */
import type { OutgoingHttpHeaders } from 'node:http';
import type { KubernetesRequest } from './kubernetes-traffic.ts';

export interface RecordedList {
  readonly headers: OutgoingHttpHeaders;
  readonly body: string;
}

/** Query parameters that do not change which objects are requested. */
const IGNORED_PARAMETERS = ['resourceVersion', 'resourceVersionMatch', 'timeoutSeconds', 'timeout'];

/** A key that is equal for two LISTs of the same objects. */
function keyOf({ path }: KubernetesRequest): string {
  const { pathname, searchParams } = new URL(path, 'https://kubernetes');
  for (const name of IGNORED_PARAMETERS) searchParams.delete(name);
  searchParams.sort();
  return `${pathname}?${searchParams}`;
}

/** The first response to each LIST of a resource, since `start`. */
export class ListRecords {
  readonly #resources = new Map<string, Map<string, RecordedList>>();

  /** Starts recording, and forgets earlier records of this resource. */
  start(resource: string): void {
    this.#resources.set(resource, new Map());
  }

  /** Whether the response to this request should be recorded. */
  isWanted(request: KubernetesRequest): boolean {
    const records = this.#resources.get(request.resource);
    return request.verb === 'list' && records !== undefined && !records.has(keyOf(request));
  }

  keep(request: KubernetesRequest, list: RecordedList): void {
    if (this.isWanted(request)) this.#resources.get(request.resource)?.set(keyOf(request), list);
  }

  find(request: KubernetesRequest): RecordedList | undefined {
    return this.#resources.get(request.resource)?.get(keyOf(request));
  }
}
