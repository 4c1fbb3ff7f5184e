/** Recorded responses to LIST requests. */
import type { OutgoingHttpHeaders } from 'node:http';
import type { KubernetesRequest } from './kubernetes-traffic.ts';

export interface RecordedList {
  readonly headers: OutgoingHttpHeaders;
  readonly body: string;
}

/** What says where a LIST is read from, and not what is asked for. */
const NOT_ASKED_FOR = ['resourceVersion', 'resourceVersionMatch', 'timeoutSeconds', 'timeout'];

/** The same for two LISTs that ask for the same. */
function keyOf({ path }: KubernetesRequest): string {
  const { pathname, searchParams } = new URL(path, 'https://kubernetes');
  for (const name of NOT_ASKED_FOR) searchParams.delete(name);
  searchParams.sort();
  return `${pathname}?${searchParams}`;
}

/** The first answer to each LIST, since it was asked to look. */
export class ListRecords {
  readonly #resources = new Map<string, Map<string, RecordedList>>();

  /** What was recorded of this resource before is forgotten. */
  start(resource: string): void {
    this.#resources.set(resource, new Map());
  }

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
