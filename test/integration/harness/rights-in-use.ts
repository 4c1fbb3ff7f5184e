/** What accounts of Berth were seen to do, by the API server's audit log, and how that compares with what they may. */
import { describeRight, type Right } from '../../../src/cluster/kube/client/rights.ts';
import { waitFor } from '../../cluster/wait.ts';
import { auditedSince, auditedUntilNow } from './audit.ts';

interface AuditLine {
  requestURI: string;
  user: { username: string };
  verb: string;
  objectRef?: {
    apiGroup?: string;
    resource: string;
    subresource?: string;
    namespace?: string;
    name?: string;
  };
  responseStatus?: { code: number };
}

export type Account = 'berth-listener' | 'berth-operator';

/** An account in one namespace: the same accounts work for other files in others. */
export interface Place {
  readonly account: Account;
  readonly namespace: string;
}

/** What an account may in a place. */
export interface Grant extends Place {
  readonly rights: readonly Right[];
}

/** Rights in the form of `describeRight`. */
export interface Compared {
  readonly unused: string[];
  /** Asked for, and not among the rights. */
  readonly beyond: string[];
  readonly refused: string[];
}

/** Counts from where the log is when this is made. */
export class RightsInUse {
  readonly #from = auditedUntilNow();

  seen({ account, namespace }: Place): { used: Set<string>; refused: string[] } {
    const used = new Set<string>();
    const refused: string[] = [];
    for (const { requestURI, user, verb, objectRef, responseStatus } of this.#lines(namespace)) {
      if (!user.username.endsWith(`:${account}`)) continue;
      const { apiGroup: group = '', resource = '', subresource } = objectRef ?? {};
      const right = { group, resource, ...(subresource === undefined ? {} : { subresource }) };
      const code = responseStatus?.code;
      if (code === 403) refused.push(describeRight({ ...right, verb }));
      used.add(describeRight({ ...right, verb }));
      // A list that is streamed, which is asked for in pages where a server has none such: then it is that right.
      if (requestURI.includes('sendInitialEvents=true')) used.add(describeRight({ ...right, verb: 'list' }));
      // An apply that makes an object needs both rights.
      if (verb === 'patch' && code === 201) used.add(describeRight({ ...right, verb: 'create' }));
    }
    return { used, refused };
  }

  /** Waits until the audit log shows that the account used them. A request is logged when it is complete, a watch when it ends. */
  until(place: Place, rights: readonly string[]): Promise<unknown> {
    let left = rights;
    const poll = async () => {
      const { used } = this.seen(place);
      left = rights.filter((right) => !used.has(right));
      return left.length === 0;
    };
    const what = `${place.account} to be seen to ${rights.join(', ')} in ${place.namespace}`;
    return waitFor(what, poll, { timeoutMs: 60_000, intervalMs: 500 }).catch((error: unknown) => {
      throw new Error(`${String(error)}; not seen: ${left.join(', ')}`, { cause: error });
    });
  }

  compare({ rights, ...place }: Grant): Compared {
    const { used, refused } = this.seen(place);
    const names = rights.map(describeRight);
    return {
      unused: names.filter((right) => !used.has(right)),
      beyond: [...used].filter((right) => !names.includes(right)),
      refused,
    };
  }

  /** A request for a namespace itself counts as one in it, as RBAC has it. */
  #lines(namespace: string): AuditLine[] {
    return auditedSince(this.#from)
      .filter((line) => line.includes(namespace))
      .map((line) => JSON.parse(line) as AuditLine)
      .filter(
        ({ objectRef }) =>
          objectRef?.namespace === namespace ||
          (objectRef?.resource === 'namespaces' && objectRef.name === namespace),
      );
  }
}

/** Watches among the rights, which are seen only when they end. */
export const watchesOf = (rights: readonly Right[]): string[] =>
  rights.filter(({ verb }) => verb === 'watch').map(describeRight);
