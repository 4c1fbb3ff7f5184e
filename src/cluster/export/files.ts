import { stringify } from 'yaml';
import type { ManagedDeployment } from '../../contract/resource/managed-deployment.ts';
import { type PlainObject, secretNames } from './plain-objects.ts';

/** The files of an export. Pure. */

export interface ExportedFile {
  /** File name within the folder. */
  readonly name: string;
  readonly text: string;
}

export interface Exported {
  readonly resource: ManagedDeployment;
  readonly revision: number;
  readonly objects: readonly PlainObject[];
}

const yaml = (value: object) => stringify(value, { lineWidth: 0, aliasDuplicateObjects: false });

const fileOf = ({ kind, metadata }: PlainObject) => `${kind.toLowerCase()}-${metadata.name}.yaml`;

/** All objects as one YAML stream. */
export function asStream(objects: readonly PlainObject[]): string {
  return objects.map((object) => `---\n${yaml(object)}`).join('');
}

function readme({ resource, revision, objects }: Exported): string {
  const { name, namespace } = resource.metadata;
  const secrets = secretNames(objects);
  const needed =
    secrets.length === 0
      ? 'The objects refer to no Secret.'
      : secrets.map((secret) => `- ${secret}`).join('\n');
  const id = resource.spec.deploymentId;
  const release =
    id === undefined
      ? `       kubectl -n ${namespace} delete mdep ${name} --cascade=orphan`
      : `       curl -X DELETE -H "X-Api-Key: $BERTH_API_KEY" "$BERTH_URL/v2/deployments/${id}?keep_workloads=true"

   (an API key with the scope admin), and wait until the ManagedDeployment is gone:

       kubectl -n ${namespace} wait --for=delete mdep/${name} --timeout=120s`;
  return `# ${resource.spec.displayName ?? name}
Revision ${revision} of the deployment \`${name}\` in the namespace \`${namespace}\`, as plain Kubernetes objects.

## Leave Berth without an outage
1. Stop the management by Berth. The objects stay in the cluster, without an owner reference:

${release}

2. Apply the objects. From now on you manage them. Pods that run this revision keep running:

       kubectl apply --server-side --force-conflicts -k .

## Secrets
This folder does not contain the values of Secrets. The Secrets stay in the cluster, and the objects refer to them by name:

${needed}

To move to another cluster, copy these Secrets and the volume's data first.
`;
}

/** A folder for `kubectl apply -k`. */
export function asFolder(exported: Exported): ExportedFile[] {
  const { resource, objects } = exported;
  const kustomization = {
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    namespace: resource.metadata.namespace,
    resources: objects.map(fileOf),
  };
  return [
    { name: 'README.md', text: readme(exported) },
    { name: 'kustomization.yaml', text: yaml(kustomization) },
    ...objects.map((object) => ({ name: fileOf(object), text: yaml(object) })),
  ];
}
