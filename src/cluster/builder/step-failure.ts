import { writeFileSync } from 'node:fs';
import {
  type BuildFailure,
  buildFailureSchema,
  MAX_TERMINATION_BYTES,
} from '../../contract/resource/build.ts';
import type { Reason } from '../../domain/conditions/conditions.ts';

/** A failed step of a build: a reason of the closed list, and a message for the owner of the repository. */
export class StepFailure extends Error {
  readonly reason: Reason;
  /** A transient failure: the same step may succeed later, for example when the host did not respond. */
  readonly passing: boolean;
  constructor(reason: Reason, message: string, options: { passing?: boolean; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.name = 'StepFailure';
    this.reason = reason;
    this.passing = options.passing ?? false;
  }
}

const MAX_CHARACTERS = 3000;

/** Keeps the end, which contains the cause of the failure. Half a surrogate pair is dropped. */
function shortened(message: string, characters: number): string {
  if (message.length <= characters) return message;
  return `…${message.slice(message.length - characters + 1)}`.replace(/^…[\udc00-\udfff]/, '…');
}

/** A failure in the form of a termination message: JSON of at most 4096 bytes. */
export function failureText(reason: Reason, message: string): string {
  for (let most = MAX_CHARACTERS; ; most = Math.floor(most / 2)) {
    const failure: BuildFailure = { reason, message: shortened(message, most).toWellFormed() };
    const text = JSON.stringify(failure);
    if (Buffer.byteLength(text) <= MAX_TERMINATION_BYTES) {
      buildFailureSchema.parse(failure);
      return text;
    }
  }
}

/**
 * Writes the result of a step to the termination log.
 * @param path of the termination log; in a pod the file already exists
 */
export function writeTerminationMessage(path: string, text: string): void {
  writeFileSync(path, text);
}
