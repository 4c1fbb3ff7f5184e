import type pg from 'pg';

const TENANTS = 100;
const LISTENERS = 20;

/** SQL of the id number `n` of a table. Ids are ordered by number, as UUIDs of version 7 are by time. */
const id = (table: number, n: string) =>
  `('0199000${table}-0000-7000-8000-' || lpad(to_hex(${n}), 12, '0'))::uuid`;
const [tenant, listener, project, deployment, revision, set, event, tombstone, task] = [
  0, 1, 2, 3, 4, 5, 6, 7, 8,
].map((table) => (n: string) => id(table, n)) as [Id, Id, Id, Id, Id, Id, Id, Id, Id];
type Id = (n: string) => string;

const tenantOf = (n: string) => tenant(`${n} % ${TENANTS}`);
const listenerOf = (n: string) => listener(`${n} % ${LISTENERS}`);

/** The statements that insert `count` deployments with what belongs to them. */
const inserts = (count: number): readonly string[] => [
  `INSERT INTO tenants (id, name) SELECT ${tenant('n')}, 'tenant-' || n FROM generate_series(0, ${TENANTS - 1}) n`,
  `INSERT INTO listeners (id, compute_id, compute_config, ever_seen, lease_expires_at)
   SELECT ${listener('n')}, 'cluster-' || n, '{"k8s_namespaces": []}', true, now() + interval '1 hour'
   FROM generate_series(0, ${LISTENERS - 1}) n`,
  `INSERT INTO tracing_projects (id, tenant_id, name, backend_synced_at)
   SELECT ${project('n')}, ${tenantOf('n')}, 'app-' || n, now() FROM generate_series(1, ${count}) n`,
  // One in ten is built on push, one in a hundred is being deleted, and one in a thousand is due.
  `INSERT INTO deployments (id, tenant_id, name, source, deployment_type, source_config, source_revision_config, secrets_id,
     image_version, app_name, namespace, listener_id, tracing_project_id, latest_revision_id, active_revision_id,
     has_runnable_revision, delete_requested_at, acknowledged_generation, next_attempt_at, handed_out, spec_hash,
     observed_generation, conditions, data_ready, observed_at, next_poll_at)
   SELECT ${deployment('n')}, ${tenantOf('n')}, 'app-' || n, CASE WHEN n % 10 = 0 THEN 'git_host' ELSE 'external_docker' END,
     CASE WHEN n % 2 = 0 THEN 'prod' ELSE 'dev' END,
     CASE WHEN n % 10 = 0 THEN '{"build_on_push": true, "repo_url": "https://git.example/a", "integration_id": null}'
       ELSE '{"build_on_push": null}' END::jsonb,
     '{"image_uri": "registry.example/app:1"}', ${set('n')}, (n % 50)::text, 'app-' || n, 'default', ${listenerOf('n')},
     ${project('n')}, ${revision('2 * n')}, ${revision('2 * n')}, true, CASE WHEN n % 100 = 1 THEN now() END,
     CASE WHEN n % 1000 = 0 THEN 0 ELSE 1 END, now() - n * interval '1 second', true, md5(n::text), 1,
     '[{"type": "Ready", "status": "True", "observedGeneration": 1}]', true, now(),
     CASE WHEN n % 10 = 0 THEN now() + n * interval '1 second' END
   FROM generate_series(1, ${count}) n`,
  `INSERT INTO secret_sets (id, tenant_id, deployment_id, key_id, sealed)
   SELECT ${set('n')}, ${tenantOf('n')}, ${deployment('n')}, 'key', decode(repeat('00', 100), 'hex')
   FROM generate_series(1, ${count}) n`,
  // Every second deployment has an earlier revision.
  `INSERT INTO revisions (id, tenant_id, deployment_id, number, status, source_revision_config, secrets_id)
   SELECT ${revision('n')}, ${tenantOf('n / 2')}, ${deployment('n / 2')}, CASE WHEN n % 4 = 3 THEN 2 ELSE 1 END, 'DEPLOYED',
     '{"image_uri": "registry.example/app:1"}', ${set('n / 2')}
   FROM generate_series(2, ${2 * count + 1}) n WHERE n % 4 <> 1`,
  `INSERT INTO events (id, tenant_id, deployment_id, revision_id, actor_kind, reason, message, details)
   SELECT ${event('n')}, ${tenantOf('n')}, ${deployment('n')}, ${revision('2 * n')}, 'system', 'Created', 'Created.',
     '{"from": null, "to": "QUEUED"}'
   FROM generate_series(1, ${count}) n`,
  `INSERT INTO tombstones (id, tenant_id, listener_id, name, app_name, namespace, generation, due, look_again_at)
   SELECT ${tombstone('n')}, ${tenantOf('n')}, ${listenerOf('n')}, 'app-' || n, 'app-' || n, 'default', 1, n % 1000 = 0, NULL
   FROM generate_series(1, ${count / 5}) n`,
  // One task in a thousand has not ended.
  `INSERT INTO tasks (id, tenant_id, deployment_id, listener_id, name, namespace, app_name, resource_uid, origin, component,
     command, timeout_seconds, actor_kind, ended_at)
   SELECT ${task('n')}, ${tenantOf('n')}, ${deployment('n')}, ${listenerOf('n')}, 'task-' || n, 'default', 'app-' || n, n::text,
     'api', 'api', '["migrate"]', 3600, 'api_key', CASE WHEN n % 1000 > 0 THEN now() END
   FROM generate_series(1, ${count}) n`,
];

/** Statements that remove and restore each foreign key. A check of each inserted row takes a third of the time. */
const FOREIGN_KEYS = `SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname) AS remove,
  format('ALTER TABLE %s ADD CONSTRAINT %I %s NOT VALID', conrelid::regclass, conname, pg_get_constraintdef(oid)) AS restore
FROM pg_constraint WHERE contype = 'f' AND connamespace = 'public'::regnamespace`;

/** Fills a database as that of a large installation, with statistics. */
export async function fillStore(client: pg.Client, deployments: number): Promise<void> {
  const { rows: keys } = await client.query<{ remove: string; restore: string }>(FOREIGN_KEYS);
  await client.query(`SET berth.tenant_id = '*'; SET synchronous_commit = off`);
  for (const { remove } of keys) await client.query(remove);
  for (const insert of inserts(deployments)) await client.query(insert);
  for (const { restore } of keys) await client.query(restore);
  await client.query('ANALYZE');
}
