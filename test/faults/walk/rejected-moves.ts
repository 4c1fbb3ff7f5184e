import { CLAIMS } from './donors.ts';
import type { Random } from './random.ts';
import type { PatchOfWalk } from './record.ts';
import type { Move } from './spec-moves.ts';

/** Changes that the API must reject with a 4xx status and without an effect. */

const container = { name: 'rejected', image: 'registry.test/rejected:1' };

const REJECTED: readonly Omit<Move, 'move'>[] = [
  { what: 'min above max', change: { min_scale: 3, max_scale: 2 } },
  { what: 'request above limit', change: { cpu: 2, cpu_limit: 1 } },
  { what: 'a scale below 0', change: { min_scale: -1 } },
  { what: 'a scale above the hard limit', change: { max_scale: 1001 } },
  { what: 'cores finer than 0.001', change: { cpu: 0.0001 } },
  { what: 'storage that shrinks', change: { db_storage_gi: 1 } },
  { what: 'too few connections', change: { db_max_connections: 1 } },
  { what: 'a container named app', change: { sidecars: [{ ...container, name: 'app' }] } },
  { what: 'a name twice', change: { sidecars: [container], init_containers: [container] } },
  { what: 'a mount without its volume', change: { volume_mounts: [{ name: 'nothing', mountPath: '/x' }] } },
  {
    what: 'a privileged container',
    change: { sidecars: [{ ...container, securityContext: { privileged: true } }] },
  },
  {
    what: 'an SELinux user and role',
    change: {
      sidecars: [{ ...container, securityContext: { seLinuxOptions: { user: 'root', role: 'sysadm_r' } } }],
      init_containers: [
        {
          ...container,
          name: 'first',
          securityContext: { seLinuxOptions: { user: 'root', role: 'sysadm_r' } },
        },
      ],
    },
  },
  { what: 'a reserved label', change: { labels: { 'berth.dev/deployment-id': 'x' } } },
  { what: 'an unknown field', change: { replicas: 3 } },
  {
    what: 'two sources of a volume',
    change: { volumes: [{ name: 'two', emptyDir: {}, persistentVolumeClaim: { claimName: CLAIMS[0] } }] },
  },
  {
    what: 'a token of the ServiceAccount',
    change: {
      volumes: [
        {
          name: 'token',
          projected: {
            sources: [{ serviceAccountToken: { path: 'token', audience: 'vault', expirationSeconds: 600 } }],
          },
        },
      ],
    },
  },
];

/** A change that the API must reject. */
export function rejectedMove(random: Random): Move {
  const { what, change } = random.pick(REJECTED);
  return { move: 'rejected', what: `must be rejected: ${what}`, change };
}

/** Fields of a git source, which an image source does not have, and invalid images. */
const REJECTED_CONFIGS: readonly PatchOfWalk['source_revision_config'][] = [
  { image_uri: null },
  { image_uri: 'registry.test/App:1' },
  { repo_ref: 'main' },
  { workflow_config_path: 'berth.json' },
  { repo_commit_sha: 'ab'.repeat(20) },
  { image_uri: 'registry.test/app:3', repo_ref: 'main' },
  { port: 65_536 },
  { env: [{ name: 'PORT', value: '1' }] },
  { commands: { api: { args: Array.from({ length: 300 }, () => 'x') } } },
];

const REJECTED_BODIES: readonly PatchOfWalk[] = [
  ...REJECTED_CONFIGS.map((config) => ({ source_revision_config: config })),
  { secret_references: [{ name: 'A', secret_name: 'shop-0a1b2c3d-db', secret_key: 'password' }] },
  { secret_references: [{ name: 'PORT', secret_name: 'external-payments', secret_key: 'api-key' }] },
];

/** A new revision that the API must reject. */
export function rejectedBody(random: Random) {
  const body = random.pick(REJECTED_BODIES);
  return { move: 'rejected', what: `must be rejected: ${JSON.stringify(body)}`, body };
}
