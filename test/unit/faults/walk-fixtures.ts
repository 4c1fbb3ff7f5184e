import type { Secret } from '../../../src/domain/deployment/deployment.ts';
import type { ClusterState } from '../../faults/walk/cluster-state.ts';

/** A deployment as the API returns it. */
export const deployment = (id: string, host: string | null, secrets: readonly Secret[] = []) =>
  ({
    id,
    name: `name-of-${id}`,
    status: 'READY',
    latest_revision_id: `revision-of-${id}`,
    active_revision_id: `revision-of-${id}`,
    conditions: [],
    secrets,
    url: host === null ? null : `https://${host}/`,
    source_config: { resource_spec: null, custom_url: host === null ? null : `https://${host}` },
    source_revision_config: { image_uri: 'registry.test/app:1' },
  }) as never;

const EMPTY: ClusterState = {
  ManagedDeployment: [],
  Deployment: [],
  StatefulSet: [],
  Service: [],
  ServiceAccount: [],
  HorizontalPodAutoscaler: [],
  PodDisruptionBudget: [],
  NetworkPolicy: [],
  Ingress: [],
  PersistentVolumeClaim: [],
  Secret: [],
  ControllerRevision: [],
  Pod: [],
};

export interface Variation {
  readonly cpu?: string;
  readonly replicas?: number;
  readonly scaled?: boolean;
  /** Value of the only variable of the environment. */
  readonly value?: string;
  /** Role that owns the database. */
  readonly role?: string;
  /** Password in the URI. Absent: that of the key `password`. */
  readonly otherPassword?: string;
}

const secretData = (values: Readonly<Record<string, string>>) => ({
  data: Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
  ),
});

/** The objects of a deployment in the cluster. Each deployment has another password. */
export function stateOf(id: string, more: Variation = {}): ClusterState {
  const app = `app-${id}`;
  const object = (kind: string, name: string, rest: object) =>
    ({
      apiVersion: 'v1',
      kind,
      metadata: { name, uid: `uid-${id}`, labels: { 'app.kubernetes.io/component': 'api' } },
      ...rest,
    }) as never;
  const labels = { 'berth.dev/template-hash': `hash-${id}`, 'berth.dev/revision-id': `revision-of-${id}` };
  const [username, password] = [more.role ?? 'app', `password-of-${id}`];
  const uri = `postgresql://${username}:${more.otherPassword ?? password}@${app}-db:5432/app`;
  const template = { metadata: { labels }, spec: { id: `${app}-api of ${id}`, cpu: more.cpu ?? '1' } };
  return {
    ...EMPTY,
    ManagedDeployment: [
      object('ManagedDeployment', app, {
        spec: { recordGeneration: id.length, revision: { envSecretName: `${app}-env-${id.length}` } },
      }),
    ],
    Deployment: [object('Deployment', `${app}-api`, { spec: { replicas: more.replicas ?? 1, template } })],
    Secret: [
      object('Secret', `${app}-env-${id.length}`, secretData({ A: more.value ?? 'hello' })),
      object('Secret', `${app}-env-99`, secretData({ OLD: 'old' })),
      object('Secret', `${app}-db`, secretData({ username, password, uri })),
      object('Secret', `${app}-pull`, secretData({ token: `token-of-${id}` })),
    ],
    ...(more.scaled
      ? { HorizontalPodAutoscaler: [object('HorizontalPodAutoscaler', `${app}-api`, {})] }
      : {}),
  };
}
