/**
 * Why a lookup in a registry failed. `unavailable`: the registry does not respond at all. `slow`: the registry
 * responded, but the lookup did not finish within its time limit. `limited`: the registry rejects further requests of
 * this client (rate limit). `failing`: the registry failed for this image, for example an image behind a mirror.
 * `refused`: the registry does not allow the image to be read. `forbidden`: this installation does not call the
 * registry. `unsupported`: the response of the registry does not follow the protocol.
 */
export type RegistryErrorKind =
  | 'unavailable'
  | 'slow'
  | 'limited'
  | 'failing'
  | 'refused'
  | 'forbidden'
  | 'unsupported';

/** Messages contain hosts and statuses, but no credentials and no text from the host. */
export class RegistryError extends Error {
  override readonly name = 'RegistryError';
  readonly kind: RegistryErrorKind;
  /** Delay after which a retry makes sense, in milliseconds; undefined: unknown. */
  readonly retryAfterMs: number | undefined;

  constructor(kind: RegistryErrorKind, message: string, retryAfterMs?: number) {
    super(message);
    this.kind = kind;
    this.retryAfterMs = retryAfterMs;
  }
}
