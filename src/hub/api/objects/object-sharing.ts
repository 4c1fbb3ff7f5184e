import type { MaskNow } from '../logs/workload-logs.ts';
import type { SizedRead } from './object-reading.ts';
import { SharedReads } from './shared-reads.ts';

/** Shares reads of objects, and their texts, between callers that may see the same. */

export type Mask = (text: string) => string;

/** What decides how a result is shown to a caller. */
export interface Showing {
  /** Masks the secrets of the deployment. Callers with the same secrets share the function. */
  readonly mask: Mask;
  /** Whether messages are withheld, because they can quote values that the hub does not know. */
  readonly withholds: boolean;
}

export interface ReadResult extends SizedRead {
  /** Masks the secrets from before the read, and those of each call. */
  readonly maskNow: MaskNow;
  /** Whether pods could print values that the hub does not know, before the read. */
  readonly hadReferences: boolean;
}

/** Numbers of objects, for keys. */
class Numbers {
  readonly #numbers = new WeakMap<object, number>();
  #next = 0;

  of(object: object): number {
    const number = this.#numbers.get(object) ?? this.#next++;
    this.#numbers.set(object, number);
    return number;
  }
}

export class ObjectSharing {
  readonly results = new SharedReads<ReadResult>({ sizeOf: ({ characters }) => characters });
  readonly #texts = new SharedReads<string>({ sizeOf: ({ length }) => length });
  readonly #numbers = new Numbers();

  /** The text of a result. Callers share it if they see the same result, with the same secrets masked, and the same messages. */
  text(result: ReadResult, { mask, withholds }: Showing, render: () => Promise<string>): Promise<string> {
    const key = `${this.#numbers.of(result)} ${this.#numbers.of(mask)} ${withholds}`;
    return this.#texts.get(key, render);
  }
}
