import { ANNOTATIONS } from './names.ts';

/**
 * The owner of a deployment confirms that the volume of its database is deleted. The confirmation applies only to the claim
 * that exists when the listener applies it, not to a claim that is restored or created later. An annotation that the
 * listener writes together with the spec names this claim by its uid.
 */

/** The value of the annotation if no claim existed. No uid has this value. */
export const NO_CLAIM = 'none';

interface Confirmable {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> | undefined };
  readonly spec?: { readonly database?: DatabaseSpec | undefined } | undefined;
}

interface DatabaseSpec {
  readonly enabled?: boolean | undefined;
  readonly removeVolume?: boolean | undefined;
}

/** Whether a spec confirms that the volume is deleted. */
export const confirmsRemoval = (spec: Confirmable['spec']): boolean =>
  spec?.database?.enabled === false && spec.database.removeVolume === true;

/** The claim to which the confirmation applies: its uid, or NO_CLAIM. undefined: the listener has noted none. */
export const notedClaim = ({ metadata }: Confirmable): string | undefined =>
  metadata.annotations?.[ANNOTATIONS.claimToRemove];

/** Whether the confirmation applies to the claim with this uid. */
export const isClaimConfirmed = (resource: Confirmable, uid: string | undefined): boolean =>
  uid !== undefined && notedClaim(resource) === uid;
