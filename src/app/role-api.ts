import { fileURLToPath } from 'node:url';
import type { Inject } from '../cluster/listener/session/hub-transport.ts';
import { type Config, ConfigError } from '../config/index.ts';
import { startBranchPoller } from '../hub/api/builds/branch-poller.ts';
import { buildApp } from '../hub/api/core/app.ts';
import type { ApiDeps } from '../hub/api/core/deps.ts';
import { closeGracefully } from '../hub/api/core/graceful-shutdown.ts';
import { createWorkHints } from '../hub/api/listeners/work-hints.ts';
import { createChangeHints } from '../hub/api/watch/change-hints.ts';
import { createGitHost } from '../hub/git-host/git-host.ts';
import { type Database, openDatabase } from '../hub/store/core/database.ts';
import { StoreError, UniqueViolation } from '../hub/store/core/errors.ts';
import { choresOf, housekeep } from '../hub/store/core/housekeeping.ts';
import { checkMigrated } from '../hub/store/core/migrate.ts';
import { listenForWork } from '../hub/store/core/notifications.ts';
import { checkSessions } from '../hub/store/core/session-check.ts';
import { removeNeverHandedOut } from '../hub/store/deployments/deployment-remove.ts';
import { readFleet } from '../hub/store/deployments/fleet.ts';
import { recordLostListeners } from '../hub/store/listeners/listener-loss.ts';
import type { SecretBox } from '../hub/store/secrets/secret-box.ts';
import {
  CONFIGURED_KEY_NAMES,
  createApiKey,
  ensureBootstrap,
  findApiKeyByHash,
  generateApiKey,
  hashApiKey,
} from '../hub/store/tenancy/api-keys.ts';
import { KnownRoom } from '../hub/store/tenancy/known-room.ts';
import { untilMigrated } from './await-migration.ts';
import { checkDatabaseRole } from './database-role.ts';
import { checkEncryptionKeys, configuredBox, KEYS_MISSING } from './encryption.ts';
import { repeat } from './interval.ts';
import { loadPolicy } from './policy/policy-file.ts';
import { reloadPolicy } from './policy/policy-reload.ts';
import { configuredAuthority } from './registry-authority.ts';
import { createRegistryCleaning } from './registry-cleanup.ts';
import type { RoleContext, RunningRole } from './role.ts';
import { startTracing } from './role-api-tracing.ts';
import { signInOptions } from './sign-in.ts';
import { createSourceStore } from './source-store.ts';
import { configuredWorkloads } from './workload-identity.ts';

/** The running API. A listener in the same process calls the API through `inject`. */
export interface ApiRole extends RunningRole {
  /** Base URL on this machine. */
  readonly url: string;
  readonly inject: Inject;
  /** Platform key that is valid as long as this process runs. */
  readonly internalKey: string;
}

/** Where `npm run console` and the image put the built console. */
const CONSOLE_FOLDER = fileURLToPath(new URL('../../dist/console', import.meta.url));

/** How often expired leases are written to the history. */
const LOST_LISTENERS_EVERY_MS = 5_000;
/** How often the deletions of deployments that no listener ever received are completed. */
const NEVER_HANDED_OUT_EVERY_MS = 5_000;
/** How often expired rows are removed. */
const HOUSEKEEPING_EVERY_MS = 3_600_000;
/**
 * Delay of the first housekeeping. The delay is short, so that a process that restarts every hour still does
 * housekeeping. A random delay of at most the same length is added, because replicas start together.
 */
const HOUSEKEEPING_FIRST_MS = 60_000;
/** How often unused images are removed from the registry. */
const CLEAN_EVERY_MS = 10_000;

/** The settings that the API requires. */
interface Required {
  readonly databaseUrl: string;
  readonly box: SecretBox;
}

function required(config: Config): Required {
  const problems = [
    ...(config.databaseUrl === null
      ? ['DATABASE_URL is not set: the API stores all its data in this PostgreSQL database']
      : []),
    ...(config.encryptionKeys.length === 0 ? [KEYS_MISSING] : []),
  ];
  const box = configuredBox(config);
  if (config.databaseUrl === null || box === null) throw new ConfigError(problems);
  return { databaseUrl: config.databaseUrl, box };
}

/** Creates the configured keys if they do not exist. A key that was revoked stays revoked. */
async function ensureKeys(
  database: Database,
  { bootstrapApiKey, bootstrapTenant, listenerKey }: Config,
): Promise<void> {
  if (bootstrapApiKey !== null) {
    await database.platform.transaction((transaction) =>
      ensureBootstrap(transaction, { tenantName: bootstrapTenant, key: bootstrapApiKey }),
    );
  }
  if (listenerKey === null) return;
  try {
    await database.platform.transaction(async (transaction) => {
      if ((await findApiKeyByHash(transaction, hashApiKey(listenerKey))) !== null) return;
      const key = { tenantId: null, name: CONFIGURED_KEY_NAMES.listener, scopes: ['listeners:run'] } as const;
      await createApiKey(transaction, key, listenerKey);
    });
  } catch (error) {
    // Another replica created the key first, or the key was revoked.
    if (!(error instanceof UniqueViolation)) throw error;
  }
}

async function openMigrated(
  { databaseUrl, box }: Required,
  { config, logger, stopping }: RoleContext,
): Promise<Database> {
  const database = openDatabase({ url: databaseUrl, poolSize: config.databasePool, logger });
  try {
    const wait = { seconds: config.migrationWaitSeconds, logger, stopping };
    await untilMigrated(async () => {
      await checkSessions(databaseUrl);
      await checkMigrated(database);
    }, wait);
    await checkDatabaseRole(database, config, logger);
    await checkEncryptionKeys(database, box, config, logger);
    await ensureKeys(database, config);
    return database;
  } catch (error) {
    await database.close();
    if (error instanceof StoreError && error.retryable) {
      throw new Error(`${error.message}; next: check that PostgreSQL runs and that DATABASE_URL is correct`, {
        cause: error,
      });
    }
    throw error;
  }
}

/**
 * Starts the API and listens.
 * @throws ConfigError, StoreError, Error with the next step when the port is taken
 */
export async function startApi(context: RoleContext): Promise<ApiRole> {
  const { config, logger, version } = context;
  const metrics = context.metrics.hub();
  const needed = required(config);
  const { databaseUrl, box } = needed;
  const policy = loadPolicy(config);
  const registryAuthority = configuredAuthority(config);
  const workloads = configuredWorkloads(config, policy);
  const database = await openMigrated(needed, context);
  const hints = createWorkHints();
  const logHints = createWorkHints();
  const eventHints = createWorkHints();
  const accessHints = createWorkHints();
  const reload = reloadPolicy({ config, policy, logger, onChange: () => accessHints.notifyAll() });
  metrics.policy(reload.isInvalid);
  const changeHints = createChangeHints();
  const soonOnly = config.repoPollSeconds === 0;
  metrics.database({
    fleet: () => database.platform.read((reader) => readFleet(reader, { soonOnly })),
    pool: database.pool,
  });
  const internalKey = generateApiKey();
  const deps: ApiDeps = {
    database,
    secretBox: box,
    policy,
    access: reload.access,
    workloads,
    ownNamespace: config.namespace,
    hosting: config.hosting,
    logger,
    hints,
    logHints,
    eventHints,
    accessHints,
    changeHints,
    deletionGraceSeconds: config.deletionGraceSeconds,
    leaseSeconds: config.leaseSeconds,
    version,
    publicUrl: config.publicUrl,
    console: config.hasConsole ? { folder: CONSOLE_FOLDER } : null,
    platformHosts: config.platformHosts,
    appDomain: config.appDomain,
    registry: config.registry,
    builds: config.registry !== null && config.builds !== null,
    registryAuthority,
    sourceStore: createSourceStore(registryAuthority, { insecure: config.registryInsecure }),
    pushTokenSeconds: config.pushTokenSeconds,
    signIn: signInOptions(config),
    gitHost: createGitHost({
      allowPrivate: config.gitAllowPrivate,
      closedNetworks: config.rendering.closedNetworks,
      path: config.path,
    }),
    rateLimits: config.rateLimits,
    projectRoom: new KnownRoom(),
    trustProxy: config.trustProxy,
    internalKey: { hash: hashApiKey(internalKey), scopes: ['listeners:run'], platform: true },
    observer: metrics.observer,
    ...(context.span === undefined ? {} : { span: context.span }),
  };
  const app = await buildApp(deps);
  const tracing = startTracing(context, databaseUrl);
  const notifications = listenForWork({
    url: databaseUrl,
    logger,
    onWork: (listenerIds) => {
      hints.notify(listenerIds);
      // Most changes of users are work for a listener, and write events. All other events are found by polling.
      eventHints.notifyAll();
      // A new deployment is work for a listener, and may have created a tracing project.
      tracing.wake();
    },
    onOutbox: tracing.wake,
    onLogs: (ids) => logHints.notify(ids),
    onAccess: (ids) => accessHints.notify(ids),
    onChanges: (payloads) => changeHints.notify(payloads),
    onRescan: () => {
      changeHints.lost();
      hints.notifyAll();
      eventHints.notifyAll();
      accessHints.notifyAll();
    },
  });
  const poller = startBranchPoller(deps, { everySeconds: config.repoPollSeconds });
  const platform = database.platform;
  const stopping = new AbortController();
  const cleaning = createRegistryCleaning({
    database,
    authority: registryAuthority,
    insecure: config.registryInsecure,
    kept: policy.tenant_counts.revision_secrets,
    logger,
  });
  const chores = choresOf(policy.tenant_counts.revision_secrets);
  const timers = [
    repeat({ what: 'record lost listeners', everyMs: LOST_LISTENERS_EVERY_MS, logger }, () =>
      platform.transaction(recordLostListeners),
    ),
    repeat(
      {
        what: 'complete deletions of deployments that no listener received',
        everyMs: NEVER_HANDED_OUT_EVERY_MS,
        logger,
      },
      async () => {
        while (!stopping.signal.aborted && (await platform.transaction(removeNeverHandedOut)) > 0);
      },
    ),
    repeat({ what: 'remove unused images from the registry', everyMs: CLEAN_EVERY_MS, logger }, () =>
      cleaning.run(stopping.signal),
    ),
    repeat(
      {
        what: 'remove expired rows',
        everyMs: HOUSEKEEPING_EVERY_MS,
        firstMs: HOUSEKEEPING_FIRST_MS * (1 + Math.random()),
        logger,
      },
      () => housekeep(platform, chores, logger, stopping.signal),
    ),
  ];
  const stop = async () => {
    for (const end of timers) end();
    reload.stop();
    stopping.abort();
    await closeGracefully(app);
    await poller.stop();
    await notifications.close();
    await tracing.stop();
    await database.close();
  };
  let url: string;
  try {
    url = await app.listen({ host: config.host, port: config.port });
  } catch (error) {
    await stop();
    throw new Error(
      `failed to listen on ${config.host}:${config.port}: ${(error as NodeJS.ErrnoException).code}; next: set BERTH_PORT to a free port (0 picks one)`,
      { cause: error },
    );
  }
  return {
    url,
    internalKey,
    inject: (request) => app.inject(request),
    failed: new Promise<never>(() => undefined),
    notReady: () =>
      database.ping().then(
        () => null,
        () => 'the database does not respond, or is read-only',
      ),
    stop,
  };
}
