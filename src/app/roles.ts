import { setTimeout as sleep } from 'node:timers/promises';
import { type Config, describeUnknown } from '../config/index.ts';
import type { Logger } from '../domain/core/logger.ts';
import { createMetrics } from '../metrics/metrics.ts';
import type { Telemetry, TelemetryOptions } from '../telemetry/telemetry.ts';
import { type HealthServer, serveHealth } from './health.ts';
import { createLogger } from './logging.ts';
import type { RoleContext, RunningRole } from './role.ts';
import type { ApiRole } from './role-api.ts';
import { stopRoles } from './stop-roles.ts';

export const ROLES = ['api', 'listener', 'operator', 'all'] as const;
export type Role = (typeof ROLES)[number];

/** Resolves with the name of the first stop signal. */
function stopSignal(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve(signal));
  });
}

/**
 * Starts the roles in the order API, listener, operator, and adds each to `running`.
 * Loads only the modules of these roles, because an operator does not need an HTTP framework in memory.
 */
async function startAll(role: Role, context: RoleContext, running: RunningRole[]): Promise<ApiRole | null> {
  const isAsked = (name: Role) => role === name || role === 'all';
  let api: ApiRole | null = null;
  if (isAsked('api')) {
    const { startApi } = await import('./role-api.ts');
    api = await startApi(context);
    running.push(api);
  }
  if (isAsked('operator')) {
    const { startOperator } = await import('./role-operator.ts');
    running.push(await startOperator(context));
  }
  if (isAsked('listener')) {
    const { startListener } = await import('./role-listener.ts');
    running.push(await startListener(context, api));
  }
  return api;
}

async function firstReason(running: readonly RunningRole[]): Promise<string | null> {
  for (const role of running) {
    const reason = await role.notReady();
    if (reason !== null) return reason;
  }
  return null;
}

/** How often the readiness of the roles is polled. */
const READY_POLL_MS = 100;

/** Waits until every role is ready, and logs the reasons for the wait. Also resolves when the signal is aborted. */
async function untilReady(
  running: readonly RunningRole[],
  logger: Logger,
  signal: AbortSignal,
): Promise<boolean> {
  let lastReason: string | null = null;
  while (!signal.aborted) {
    const reason = await firstReason(running);
    if (reason === null) return true;
    if (reason !== lastReason) logger.info({ reason }, 'not ready yet');
    lastReason = reason;
    await sleep(READY_POLL_MS);
  }
  return false;
}

/**
 * Loads OpenTelemetry only if traces are enabled, because the packages of OpenTelemetry are optional and slow to load.
 */
async function loadTelemetry(options: TelemetryOptions): Promise<Telemetry> {
  let telemetry: typeof import('../telemetry/telemetry.ts');
  try {
    telemetry = await import('../telemetry/telemetry.ts');
  } catch (error) {
    throw new Error(
      `failed to load OpenTelemetry for BERTH_TRACES_ENDPOINT: ${String(error)}; next: run npm ci again, or unset it`,
      { cause: error },
    );
  }
  return telemetry.startTelemetry(options);
}

/**
 * Runs one role, or all, until a stop signal.
 * @throws Error when a role cannot start, or fails later
 */
export async function runRoles(role: Role, config: Config, version: string): Promise<void> {
  const logger = createLogger(config.logLevel);
  for (const setting of config.unknownSettings) {
    logger.warn({ setting: setting.name, nearest: setting.nearest }, describeUnknown(setting));
  }
  const metrics = createMetrics({ version, role });
  const stopped = stopSignal();
  const running: RunningRole[] = [];
  let health: HealthServer | null = null;
  let telemetry: Telemetry | null = null;
  const ending = new AbortController();
  stopped.then(() => ending.abort());
  try {
    const traced = { role, version, identity: config.identity, logger };
    telemetry = config.traces === null ? null : await loadTelemetry({ ...config.traces, ...traced });
    const span = telemetry?.span;
    const stopping = ending.signal;
    const api = await startAll(role, { config, logger, version, metrics, span, stopping }, running);
    health = await serveHealth({
      host: config.host,
      port: config.metricsPort,
      metrics: metrics.registry,
      notReady: () => firstReason(running),
    });
    const facts = { role, version, url: api?.url, metricsPort: health.port };
    logger.info(facts, 'started');
    untilReady(running, logger, ending.signal).then(
      (ready) => ready && logger.info(facts, 'berth is ready'),
      (error) => logger.error({ err: String(error) }, 'failed to check whether berth is ready'),
    );
    const signal = await Promise.race([stopped, ...running.map(({ failed }) => failed)]);
    logger.info({ signal }, 'stopping');
  } finally {
    ending.abort();
    const inTime = await stopRoles(running, logger);
    await health?.close();
    await telemetry?.stop();
    // A role that did not stop would keep the process alive.
    if (!inTime) process.exit(1);
  }
  logger.info({}, 'stopped');
}
