import type { ManagedDeployment } from '../../../contract/resource/managed-deployment.ts';
import type { NamedSecret } from '../../../workloads/objects/secret-sentinel.ts';

/**
 * Time for which a record is kept. All resources are reconciled once before any of them creates its sentinel in a
 * second reconcile. With a thousand new resources, this takes two minutes. After an eviction, the Secrets are read.
 */
const KEPT_MS = 600_000;

/**
 * Records which credentials this process has just created, so that the first sentinel is created without a read of the
 * credentials. A record is used once. If a Secret of a record was deleted before its use, the sentinel has an owner uid
 * that no longer exists. The garbage collector removes that owner, and the resulting reconcile reads the Secrets.
 */
export class CredentialsRecord {
  #inventedFor: string | undefined;
  #made:
    | { readonly owner: string | undefined; readonly secrets: readonly NamedSecret[]; readonly at: number }
    | undefined;

  /**
   * Whether this process creates the credentials for the first time. A later creation may find Secrets of an earlier
   * creation.
   */
  isFirstTime({ metadata: { uid } }: ManagedDeployment): boolean {
    const isFirst = this.#inventedFor !== uid;
    this.#inventedFor = uid;
    return isFirst;
  }

  note({ metadata }: ManagedDeployment, secrets: readonly NamedSecret[]): void {
    this.#made = { owner: metadata.uid, secrets, at: performance.now() };
  }

  /** Called when a Secret is missing or is created again, because the record may then be outdated. */
  forget(): void {
    this.#made = undefined;
  }

  /** Whether the credentials are known to exist. */
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
