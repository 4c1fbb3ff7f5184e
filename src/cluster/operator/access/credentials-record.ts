import type { ManagedDeployment } from '../../../contract/resource/managed-deployment.ts';
import type { NamedSecret } from '../../../workloads/objects/secret-sentinel.ts';

/**
 * The first looks of all come before the second of any, which asks for the witness: with a thousand created at once that
 * takes two minutes, and with ten seconds three of four were read again in that very crowd. What was forgotten here is read.
 */
const KEPT_MS = 600_000;

/**
 * Which credentials this process has just made, so that their first witness needs no read of them. It is told once. Of
 * what was deleted in between the witness names a uid that is gone, which the garbage collector takes out, and the look
 * which that wakes reads them.
 */
export class CredentialsRecord {
  #inventedFor: string | undefined;
  #made:
    | { readonly owner: string | undefined; readonly secrets: readonly NamedSecret[]; readonly at: number }
    | undefined;

  /** Whether this process makes them for the first time: later ones may meet what an earlier one has made. */
  isFirstTime({ metadata: { uid } }: ManagedDeployment): boolean {
    const isFirst = this.#inventedFor !== uid;
    this.#inventedFor = uid;
    return isFirst;
  }

  note({ metadata }: ManagedDeployment, secrets: readonly NamedSecret[]): void {
    this.#made = { owner: metadata.uid, secrets, at: performance.now() };
  }

  /** Something lacks a Secret, or they are made anew: what was noted may be gone. */
  forget(): void {
    this.#made = undefined;
  }

  /** Whether they need no read, nor anything made. */
  has(resource: ManagedDeployment): boolean {
    return this.#madeFor(resource) !== undefined;
  }

  take(resource: ManagedDeployment): readonly NamedSecret[] | undefined {
    const made = this.#madeFor(resource);
    this.forget();
    return made;
  }

  #madeFor({ metadata }: ManagedDeployment): readonly NamedSecret[] | undefined {
    const made = this.#made;
    if (made === undefined || made.owner !== metadata.uid || performance.now() - made.at > KEPT_MS)
      return undefined;
    return made.secrets;
  }
}
