/**
 * Why a registry gave no answer that can be used.
 * `unavailable`: it does not answer, whatever it is asked. `slow`: it answered, but not all of what this look needed in its time. `limited`: it takes no more requests of whoever asked. `failing`: it has failed with
 * this image (one behind a mirror, say). `refused`: it does not let the image be looked at. `forbidden`: this installation does not call it. `unsupported`: it speaks in another way.
 */
export type RegistryErrorKind =
  | 'unavailable'
  | 'slow'
  | 'limited'
  | 'failing'
  | 'refused'
  | 'forbidden'
  | 'unsupported';

/** Messages name hosts and statuses; never a credential, never words of the host. */
export class RegistryError extends Error {
  override readonly name = 'RegistryError';
  readonly kind: RegistryErrorKind;
  /** When it is worth another call, in milliseconds from now; undefined: nothing is known. */
  readonly retryAfterMs: number | undefined;

  constructor(kind: RegistryErrorKind, message: string, retryAfterMs?: number) {
    super(message);
    this.kind = kind;
    this.retryAfterMs = retryAfterMs;
  }
}
