import { MANAGED_BY, MANAGED_BY_LABEL, PART_OF_LABEL } from '../kubernetes/labels.ts';
import { generatedFor, isGeneratedSecret, isSecretOfAnother } from './generated-names.ts';

/**
 * The one rule that decides which Secrets the pods of a deployment may use: by secret_references, volumes, envFrom, valueFrom,
 * as the environment of the app container, and to pull images. The API knows only names. The operator also checks the
 * labels and the type of a Secret, for deployments of the API and for custom resources.
 */

/**
 * How pods use a Secret. `content`: containers can read it by a name that the tenant chooses. `environment`: the Secret of
 * `secrets`. `pull`: only the kubelet reads it.
 */
export type SecretUse = 'content' | 'environment' | 'pull';

/** A Secret without its data. */
export interface SecretIdentity {
  readonly name: string;
  /** Absent: only the name is known. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Absent: only the name is known. */
  readonly type?: string;
}

export interface SecretRules {
  /** Base name of the objects of the deployment. */
  readonly appName: string;
  /** Whether the labels show that Berth created the Secret for this deployment. */
  readonly isOwn?: boolean;
  /** Whether only Secrets with the label REFERENCEABLE_LABEL may be used, except to pull images. */
  readonly labelledOnly: boolean;
  /** Names of Secrets of the platform that exist beside deployments, without MARKER_KEY_SECRET. Absent: none. */
  readonly platformSecrets?: readonly string[];
}

/** Name of the Secret with the key of the markers of referenced values, in the namespace of Berth. */
export const MARKER_KEY_SECRET = 'berth-secret-marker-key';

/** The label of Secrets that deployments may use, for policies that require it. Its value is `true`. */
export const REFERENCEABLE_LABEL = 'berth.dev/referenceable';

/** Types of Secrets that grant access to the cluster or contain the state of other software. */
const REFUSED_TYPES: Readonly<Record<string, string>> = {
  'kubernetes.io/service-account-token': 'is a token of a ServiceAccount',
  'bootstrap.kubernetes.io/token': 'is a bootstrap token',
  'helm.sh/release.v1': 'is a release of Helm',
};

/** Names that Kubernetes and Helm require for Secrets of these types. They are also refused before the Secret exists. */
const REFUSED_NAMES: readonly (readonly [RegExp, string])[] = [
  [/^bootstrap-token-/, 'is a bootstrap token'],
  [/^sh\.helm\.release\.v1\./, 'is a release of Helm'],
];

/** End of a message. */
const REFUSED = 'and cannot be used here';
export const OF_ANOTHER = `belongs to another deployment of Berth ${REFUSED}`;
const GENERATED = `was created by Berth for a deployment ${REFUSED}`;
const OF_PLATFORM = `belongs to the platform ${REFUSED}`;

/** Why pods of a deployment may not use a Secret, as the end of a sentence; null: they may. */
export function secretRefusal(secret: SecretIdentity, use: SecretUse, rules: SecretRules): string | null {
  return nameRefusal(secret.name, use, rules) ?? contentRefusal(secret, use, rules);
}

function nameRefusal(
  name: string,
  use: SecretUse,
  { appName, platformSecrets = [] }: SecretRules,
): string | null {
  if (isSecretOfAnother(name, appName)) return OF_ANOTHER;
  if (use === 'content' && (isGeneratedSecret(name) || generatedFor(name) === appName)) return GENERATED;
  if (name === MARKER_KEY_SECRET || platformSecrets.includes(name)) return OF_PLATFORM;
  const [, what] = REFUSED_NAMES.find(([pattern]) => pattern.test(name)) ?? [];
  return what === undefined ? null : `${what} ${REFUSED}`;
}

function contentRefusal({ labels, type }: SecretIdentity, use: SecretUse, rules: SecretRules): string | null {
  if (labels === undefined) return null;
  const isManaged = labels[MANAGED_BY_LABEL] === MANAGED_BY;
  if (isManaged && rules.isOwn !== true) return OF_ANOTHER;
  if (isManaged) return use === 'content' ? GENERATED : null;
  if (labels[PART_OF_LABEL] === 'berth') return OF_PLATFORM;
  const what = REFUSED_TYPES[type ?? ''];
  if (what !== undefined) return `${what} ${REFUSED}`;
  if (!rules.labelledOnly || use === 'pull' || labels[REFERENCEABLE_LABEL] === 'true') return null;
  return `does not have the label ${REFERENCEABLE_LABEL}=true, which the policy requires`;
}
