import type { ManagedDeployment } from '../contract/managed-deployment.ts';
import type { NamedSecret } from '../workloads/secret-witness.ts';

/**
 * Which credentials this process has just made, so that they are not read again to be witnessed. It is told once: of
 * whatever was deleted in between the witness names a uid that is gone, which the garbage collector takes out, and the
 * look which that wakes reads them.
 */
export class CredentialsNote {
  #made: { readonly owner: string | undefined; readonly secrets: readonly NamedSecret[] } | undefined;

  note({ metadata }: ManagedDeployment, secrets: readonly NamedSecret[]): void {
    this.#made = { owner: metadata.uid, secrets };
  }

  take({ metadata }: ManagedDeployment): readonly NamedSecret[] | undefined {
    const made = this.#made;
    this.#made = undefined;
    return made?.owner === metadata.uid ? made?.secrets : undefined;
  }
}
