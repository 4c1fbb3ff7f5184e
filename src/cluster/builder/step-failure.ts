import { writeFileSync } from 'node:fs';
import { type BuildFailure, buildFailureSchema } from '../../contract/resource/build.ts';
import type { Reason } from '../../domain/conditions/conditions.ts';

/** How a step of a build fails: with a reason of the closed list and a message for whoever owns the repository. */
export class StepFailure extends Error {
  readonly reason: Reason;
  /** The same may succeed a moment later: the host did not answer, say. */
  readonly passing: boolean;
  constructor(reason: Reason, message: string, options: { passing?: boolean; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.name = 'StepFailure';
    this.reason = reason;
    this.passing = options.passing ?? false;
  }
}

/** Kubernetes cuts a termination message off after so many bytes. */
const MOST_BYTES = 4096;
const MOST_CHARACTERS = 3000;

/** The end is where the cause of a failure stands; half a surrogate pair is left out. */
function shortened(message: string, characters: number): string {
  if (message.length <= characters) return message;
  return `…${message.slice(message.length - characters + 1)}`.replace(/^…[\udc00-\udfff]/, '…');
}

/** A failure as the termination message has it: JSON of at most 4096 bytes. */
export function failureText(reason: Reason, message: string): string {
  for (let most = MOST_CHARACTERS; ; most = Math.floor(most / 2)) {
    const failure: BuildFailure = { reason, message: shortened(message, most).toWellFormed() };
    const text = JSON.stringify(failure);
    if (Buffer.byteLength(text) <= MOST_BYTES) {
      buildFailureSchema.parse(failure);
      return text;
    }
  }
}

/**
 * Writes the last word of a step where Kubernetes reads it.
 * @param path of the termination log; it exists already in a pod
 */
export function writeTerminationMessage(path: string, text: string): void {
  writeFileSync(path, text);
}
