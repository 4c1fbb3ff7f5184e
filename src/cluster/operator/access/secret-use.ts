import { generatedFor } from '../../../domain/policy/generated-names.ts';
import {
  OF_ANOTHER,
  type SecretRules,
  type SecretUse,
  secretRefusal,
} from '../../../domain/policy/referenceable-secrets.ts';
import type { UntypedObject } from '../../kube/client/object.ts';
import { RESOURCES } from '../../kube/client/resources.ts';
import type { WriteClient } from '../act/execute.ts';
import type { ClusterView } from '../observe/cluster-view.ts';
import { isOurs } from '../observe/ownership.ts';
import type { ObservedResource } from '../observed.ts';

/** Reads a Secret that pods are to use, and applies the rule of domain/policy/referenceable-secrets.ts to it. */

export interface SecretCheck {
  readonly view: Pick<ClusterView, 'resource' | 'children'>;
  readonly client: Pick<WriteClient, 'find'>;
  readonly rules: Pick<SecretRules, 'labelledOnly' | 'platformSecrets'> & {
    /** Namespace of Berth itself, whose Secrets no pods may newly use. Absent: not known. */
    readonly ownNamespace?: string;
  };
  readonly signal: AbortSignal;
}

export const MISSING =
  'does not exist, and Berth uses such names for objects of deployments: create the object first, or use another name';
const WITHOUT_LABEL =
  'does not exist, and the policy allows only Secrets with a label: create the object with the label first';
const OF_OWN_NAMESPACE = 'is in the namespace of Berth itself and cannot be used here';
/** Messages about objects that may be created at any time. */
export const CREATABLE: readonly string[] = [MISSING, WITHOUT_LABEL];

/**
 * Pattern of the names of database credentials. Berth may at any time create a Secret whose name matches this pattern,
 * for a later resource.
 */
const CREDENTIALS = /-(db|db-copy)$/;
const CERTIFICATE = /-tls(-[0-9a-f]{10})?$/;
/** Kinds that show that Berth had a deployment of this name, even if its custom resource is gone. */
const TRACES = ['Ingress', 'PersistentVolumeClaim', 'ControllerRevision'] as const;

export interface CheckedSecret {
  /** Why the Secret may not be used; null: it may. */
  readonly why: string | null;
  /** The Secret; absent: it does not exist, or its name alone shows that it may not be used. */
  readonly found?: UntypedObject | undefined;
}

/** @throws KubeError when the Secret cannot be read */
export async function checkSecret(
  { name, use }: { readonly name: string; readonly use: SecretUse },
  resource: ObservedResource,
  check: SecretCheck,
): Promise<CheckedSecret> {
  const { client, rules, signal } = check;
  const { namespace, name: appName } = resource.metadata;
  const byName = secretRefusal({ name }, use, { ...rules, appName });
  if (byName !== null) return { why: byName };
  if (use !== 'pull' && namespace === rules.ownNamespace) return { why: OF_OWN_NAMESPACE };
  if (isCertificateOfAnother(name, resource, check)) return { why: OF_ANOTHER };
  const found = await client.find<UntypedObject>(RESOURCES.Secret, { namespace, name }, { signal });
  if (found === undefined) return { why: whyNotLater(name, use, appName, rules) };
  const isOwn = isOurs(found, resource);
  return { found, why: secretRefusal(identityOf(found), use, { ...rules, appName, isOwn }) };
}

/**
 * cert-manager does not label a certificate's Secret with its deployment. The Secret belongs to the deployment in its
 * name.
 */
function isCertificateOfAnother(
  name: string,
  { metadata }: ObservedResource,
  { view }: Pick<SecretCheck, 'view'>,
): boolean {
  const app = generatedFor(name);
  if (!CERTIFICATE.test(name) || app === null || app === metadata.name) return false;
  const key = `${metadata.namespace}/${app}`;
  return view.resource(key) !== undefined || TRACES.some((kind) => view.children(kind, key).length > 0);
}

/** Why a Secret that does not exist may not be used when it is created; null: it may. */
function whyNotLater(
  name: string,
  use: SecretUse,
  appName: string,
  { labelledOnly }: SecretCheck['rules'],
): string | null {
  const isOwn = generatedFor(name) === appName;
  if (!isOwn && (CREDENTIALS.test(name) || CERTIFICATE.test(name))) return MISSING;
  return labelledOnly && use !== 'pull' && !isOwn ? WITHOUT_LABEL : null;
}

/** A Secret without its data. */
function identityOf({ metadata: { name, labels = {} }, ...rest }: UntypedObject) {
  const { type } = rest as { type?: unknown };
  return { name, labels, ...(typeof type === 'string' ? { type } : {}) };
}
