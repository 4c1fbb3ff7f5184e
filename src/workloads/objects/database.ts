import type { V1Container, V1Probe, V1StatefulSetSpec, V1Volume } from '@kubernetes/client-node';
import type { RenderConfig } from '../../contract/render/render-config.ts';
import type { ManagedDeployment } from '../../contract/resource/managed-deployment.ts';
import { parseQuantity } from '../../domain/kubernetes/quantity.ts';
import { DATABASE_PORT, DATABASE_ROLE, PORT_NAMES } from '../addresses.ts';
import type { KubeObject } from '../desired-object.ts';
import { commonLabels, metadata, selectorLabels } from '../labels.ts';
import { databaseName } from '../names.ts';
import { ownerReferences } from '../owner.ts';
import { containerResources, withEphemeralStorage } from './container-resources.ts';
import { databasePullPolicy } from './pull-policy.ts';
import { OWN_CONTAINER_SECURITY } from './security.ts';
import { clusterService } from './service.ts';

type DatabaseConfig = Parameters<typeof databasePullPolicy>[1] & Pick<RenderConfig, 'ephemeralStorage'>;

/** User `postgres` of the official image (Debian) and of images based on it. */
const DATABASE_USER = 999;
const PASSWORD_FILE = '/run/credentials/password';
const MEBIBYTE_NANO = 2n ** 20n * 10n ** 9n;
/** Minimum of shared_buffers, and its value without a memory request. This value is the default of PostgreSQL. */
const DEFAULT_SHARED_BUFFERS_MIB = 128;
const LEAST_SHARED_BUFFERS_MIB = 16;

/** shared_buffers, which is a quarter of the memory request, as the manual of PostgreSQL recommends. */
function sharedBuffersMib(resource: ManagedDeployment): number {
  const { requests, limits } = resource.spec.database.resources ?? {};
  const memory = requests?.memory ?? limits?.memory;
  const amount = memory === undefined ? null : parseQuantity(memory);
  if (amount === null) return DEFAULT_SHARED_BUFFERS_MIB;
  return Math.max(LEAST_SHARED_BUFFERS_MIB, Number(amount / MEBIBYTE_NANO / 4n));
}

/**
 * The probe checks TCP, because during the initialization of a data folder, the server of the image listens only on the
 * socket.
 */
const PG_ISREADY = `pg_isready --quiet --host=127.0.0.1 --port=${DATABASE_PORT}`;

/**
 * Ready means that the database accepts connections with the password of the Secret. The image sets the password only
 * when it creates a data folder, so a recreated Secret could not open existing data. The probe therefore sets each new
 * password for the role over the local socket. The probe passes the password through standard input, never through
 * argv.
 */
const READY_SCRIPT = `set -eu
${PG_ISREADY}
wanted=$(sha256sum < ${PASSWORD_FILE})
[ "$wanted" = "$(cat /tmp/password-in-effect 2>/dev/null)" ] && exit 0
psql --quiet --no-psqlrc --set=ON_ERROR_STOP=1 --username=${DATABASE_ROLE} --dbname=postgres <<'SQL'
\\set password \`cat ${PASSWORD_FILE}\`
ALTER ROLE ${DATABASE_ROLE} WITH PASSWORD :'password';
SQL
printf %s "$wanted" > /tmp/password-in-effect
`;

/** No response (2) fails the probe. Rejected connections during recovery or shutdown (1) do not fail the probe. */
const ALIVE_SCRIPT = `${PG_ISREADY}; [ $? -ne 2 ]`;

function shell(script: string): Pick<V1Probe, 'exec' | 'timeoutSeconds'> {
  return { exec: { command: ['sh', '-c', script] }, timeoutSeconds: 5 };
}

function databaseContainer(resource: ManagedDeployment, image: string, config: DatabaseConfig): V1Container {
  const { resources, maxConnections } = resource.spec.database;
  const imagePullPolicy = databasePullPolicy(image, config);
  return {
    name: 'database',
    image,
    ...(imagePullPolicy === undefined ? {} : { imagePullPolicy }),
    // Runs the entry point of the image, which creates a missing data folder.
    args: [
      'postgres',
      '-c',
      `max_connections=${maxConnections}`,
      '-c',
      `shared_buffers=${sharedBuffersMib(resource)}MB`,
    ],
    env: [
      { name: 'POSTGRES_USER', value: DATABASE_ROLE },
      { name: 'POSTGRES_DB', value: DATABASE_ROLE },
      { name: 'POSTGRES_PASSWORD_FILE', value: PASSWORD_FILE },
      // The data is in a folder below the mount, because the root of a volume may contain lost+found, and PostgreSQL
      // cannot own it.
      { name: 'PGDATA', value: '/data/pgdata' },
    ],
    ports: [{ name: PORT_NAMES.database, containerPort: DATABASE_PORT, protocol: 'TCP' }],
    // The startup may take one hour, so that recovery after a crash is not interrupted.
    startupProbe: { ...shell(PG_ISREADY), periodSeconds: 2, failureThreshold: 1800 },
    readinessProbe: { ...shell(READY_SCRIPT), periodSeconds: 5, failureThreshold: 3 },
    livenessProbe: { ...shell(ALIVE_SCRIPT), periodSeconds: 10, failureThreshold: 6 },
    // The stop signal is SIGINT. A fast shutdown ends sessions and writes a checkpoint. After SIGTERM, PostgreSQL would
    // wait until all clients disconnect.
    lifecycle: { preStop: { exec: { command: ['pg_ctl', 'stop', '--mode=fast', '--no-wait'] } } },
    ...containerResources(withEphemeralStorage(resources, config)),
    volumeMounts: [
      { name: 'data', mountPath: '/data' },
      { name: 'credentials', mountPath: '/run/credentials', readOnly: true },
      { name: 'socket', mountPath: '/var/run/postgresql' },
      { name: 'tmp', mountPath: '/tmp' },
      { name: 'shared-memory', mountPath: '/dev/shm' },
    ],
    securityContext: OWN_CONTAINER_SECURITY,
  };
}

function databaseVolumes(resource: ManagedDeployment): V1Volume[] {
  const name = databaseName(resource);
  return [
    { name: 'data', persistentVolumeClaim: { claimName: name } },
    {
      name: 'credentials',
      secret: { secretName: name, items: [{ key: 'password', path: 'password' }], defaultMode: 0o440 },
    },
    { name: 'socket', emptyDir: {} },
    { name: 'tmp', emptyDir: {} },
    // Shared memory of parallel queries. The default of the container runtime, 64 MiB, is too small.
    { name: 'shared-memory', emptyDir: { medium: 'Memory' } },
  ];
}

/**
 * PostgreSQL with one pod. The StatefulSet has no volumeClaimTemplates, because the claim is a separate object that can
 * grow and outlive the StatefulSet.
 */
export function databaseStatefulSet(
  resource: ManagedDeployment,
  image: string,
  config: DatabaseConfig,
): KubeObject {
  const name = databaseName(resource);
  const spec: V1StatefulSetSpec = {
    serviceName: name,
    selector: { matchLabels: selectorLabels(resource, 'database') },
    // With OrderedReady, a pod of a faulty template would block the pod of the corrected template.
    podManagementPolicy: 'Parallel',
    updateStrategy: { type: 'RollingUpdate' },
    revisionHistoryLimit: 1,
    template: {
      metadata: { labels: commonLabels(resource, 'database') },
      spec: {
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        securityContext: {
          runAsNonRoot: true,
          runAsUser: DATABASE_USER,
          runAsGroup: DATABASE_USER,
          fsGroup: DATABASE_USER,
          // The ownership is not changed at each start, because PostgreSQL rejects a data folder with group access.
          fsGroupChangePolicy: 'OnRootMismatch',
          seccompProfile: { type: 'RuntimeDefault' },
        },
        containers: [databaseContainer(resource, image, config)],
        volumes: databaseVolumes(resource),
        terminationGracePeriodSeconds: 120,
      },
    },
  };
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { ...metadata(resource, name, 'database'), ...ownerReferences(resource) },
    spec,
  };
}

/** The Service of the database. */
export function databaseService(resource: ManagedDeployment): KubeObject {
  const name = PORT_NAMES.database;
  const port = { name, port: DATABASE_PORT, targetPort: name };
  return clusterService(resource, databaseName(resource), 'database', 'database', port);
}
