/** Puts into a cluster what Berth needs there, from the files that users apply: custom resource, namespace, rights. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';
import { describeRight } from '../../src/cluster/kube/client/rights.ts';
import { type KubectlAccess, kubectl, writeServiceAccountKubeconfig } from '../cluster/kubectl.ts';

/** Berth's own namespace, as in manifests/. */
export const BERTH_NAMESPACE = 'berth-system';

/** An object of a manifest, as far as installing it goes. */
export interface ManifestObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

interface Rule {
  readonly apiGroups: string[];
  readonly resources: string[];
  readonly verbs: string[];
}

/** Everything but what would run Berth in pods, which a local cluster only simulates, and their settings. */
const KINDS: readonly string[] = [
  'Namespace',
  'CustomResourceDefinition',
  'ServiceAccount',
  'Role',
  'RoleBinding',
  'ClusterRole',
  'ClusterRoleBinding',
  'NetworkPolicy',
];

const CHECKOUT = fileURLToPath(new URL('../..', import.meta.url));

/** The objects of files by their text, because parsing one takes a fifth of a second. */
const parsedFiles = new Map<string, readonly ManifestObject[]>();

/** The objects of the file of a profile, as users apply it. @param checkout folder of another version of Berth; default: this one */
export function manifestObjects(profile: string, checkout = CHECKOUT): ManifestObject[] {
  const text = readFileSync(join(checkout, 'manifests', `${profile}.yaml`), 'utf8');
  const objects =
    parsedFiles.get(text) ??
    parseAllDocuments(text)
      .map((document) => document.toJS() as ManifestObject | null)
      .filter((object) => object !== null);
  parsedFiles.set(text, objects);
  return structuredClone(objects) as ManifestObject[];
}

/** The rights that a role of a profile gives, as `describeRight` writes them. Empty: there is no such role. */
export function grantedRights(profile: string, kind: 'Role' | 'ClusterRole', name: string): string[] {
  // A ClusterRole of an account has the namespace of its release in its name. Those of users have no namespace.
  const names = kind === 'ClusterRole' ? [name, `${name}-${BERTH_NAMESPACE}`] : [name];
  const roles = manifestObjects(profile).filter(
    (object) => object.kind === kind && names.includes(object.metadata.name),
  );
  const rules = roles.flatMap((role) => (role as ManifestObject & { rules: Rule[] }).rules);
  return rules.flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((text) => {
        const [resource = '', subresource] = text.split('/');
        const right = { group, resource, ...(subresource === undefined ? {} : { subresource }) };
        return verbs.map((verb) => describeRight({ verb, ...right }));
      }),
    ),
  );
}

/** What installBerth applies: of the profile with the most rights. Any other does with a part of them. */
export function installedObjects(checkout?: string): ManifestObject[] {
  return manifestObjects('cloud', checkout).filter(({ kind }) => KINDS.includes(kind));
}

/**
 * Applies custom resource, namespaces and rights, and waits until the API server serves the custom resource.
 * @param checkout folder of another version of Berth, whose they are; default: this one
 */
export const installBerth = (access: KubectlAccess, checkout?: string): Promise<void> =>
  applyObjects(access, installedObjects(checkout), 'berth-install');

/**
 * Applies objects with the custom resource among them, and waits until the API server serves the custom resource.
 * @param manager the field manager, by which the cluster remembers who has applied them
 */
export async function applyObjects(
  access: KubectlAccess,
  objects: readonly ManifestObject[],
  manager: string,
): Promise<void> {
  const list = { apiVersion: 'v1', kind: 'List', items: objects };
  await kubectl(
    access,
    ['apply', '--server-side', '--force-conflicts', `--field-manager=${manager}`, '-f', '-'],
    JSON.stringify(list),
  );
  const definitions = objects.filter(({ kind }) => kind === 'CustomResourceDefinition');
  await kubectl(access, [
    'wait',
    '--for=condition=Established',
    '--timeout=60s',
    ...definitions.map(({ metadata }) => `crd/${metadata.name}`),
  ]);
}

/** Kubeconfigs with exactly the rights of the two ServiceAccounts, written into `folder`. */
export async function roleKubeconfigs(
  access: KubectlAccess,
  folder: string,
): Promise<{ listener: string; operator: string }> {
  const paths = {
    listener: join(folder, 'berth-listener.kubeconfig'),
    operator: join(folder, 'berth-operator.kubeconfig'),
  };
  await Promise.all(
    Object.entries(paths).map(([role, path]) =>
      writeServiceAccountKubeconfig(access, { namespace: BERTH_NAMESPACE, name: `berth-${role}` }, path),
    ),
  );
  return paths;
}
