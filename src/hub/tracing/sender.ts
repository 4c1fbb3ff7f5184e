import type { Logger } from '../../domain/core/logger.ts';
import type { Database } from '../store/core/database.ts';
import {
  claimMessages,
  enqueueProjects,
  type OutboxMessage,
  recordFailed,
  recordSent,
  releaseMessage,
} from '../store/tenancy/outbox.ts';
import { BackendError, DEADLINE_MS, type TracingBackend } from './backend.ts';
import { retryDelayMs } from './retry.ts';

export interface TracingSenderOptions {
  database: Pick<Database, 'platform'>;
  backend: TracingBackend;
  logger: Logger;
  /** Counts the result of each attempt, for metrics. */
  onAttempt?: (outcome: AttemptOutcome) => void;
  random?: () => number;
  /** Poll interval of the outbox without a notification, in milliseconds. */
  pollMs?: number;
  /**
   * Time after which a claimed message that is still stored is claimed again. This time is longer than the deadline of
   * the backend.
   */
  leaseMs?: number;
  /** Time for messages in flight when the sender stops, in milliseconds. After this time, the messages are released. */
  stopGraceMs?: number;
}

export type AttemptOutcome = 'sent' | 'unavailable' | 'refused';

/** Sends the outbox to the tracing backend. Several processes can run a sender at the same time. */
export interface TracingSender {
  /** Called when messages may be waiting. */
  wake(): void;
  /** Claims no more messages, and completes the messages in flight. */
  stop(): Promise<void>;
}

/**
 * Maximum number of messages in flight. A backend that does not respond blocks only these messages, until the deadline.
 */
const CONCURRENCY = 8;
/** Number of projects that are converted to messages at once. */
const ENQUEUE_BATCH = 200;
const POLL_MS = 2_000;
const STOP_GRACE_MS = 2_000;
/** Time within which several notifications cause one query. */
const HINT_PAUSE_MS = 100;

/**
 * Starts sending. Sends messages. Failures of the database or backend are logged and retried. No transaction is open
 * during a call.
 */
export function startTracingSender(options: TracingSenderOptions): TracingSender {
  const { database, backend, logger, random = Math.random, onAttempt = () => undefined } = options;
  const leaseSeconds = (options.leaseMs ?? 2 * DEADLINE_MS) / 1000;
  const abandon = new AbortController();
  const inFlight = new Set<Promise<void>>();
  let hint = Promise.withResolvers<void>();
  let isStopping = false;
  let isBackendDown = false;

  let hintTimer: NodeJS.Timeout | null = null;

  const pollNow = () => hint.resolve();

  const wake = () => {
    hintTimer ??= setTimeout(() => {
      hintTimer = null;
      pollNow();
    }, HINT_PAUSE_MS);
  };

  function noteBackend(isDown: boolean, why?: string): void {
    if (isDown === isBackendDown) return;
    isBackendDown = isDown;
    if (isDown)
      logger.warn({ why }, 'the tracing backend does not accept messages; they are stored and retried');
    else logger.info({}, 'the tracing backend accepts messages again');
  }

  const deliver = (message: OutboxMessage): Promise<string | null> => {
    const { subjectId: id, tenantId, tenantName, payload } = message;
    if (message.kind === 'tracing_project.deleted')
      return backend.delete(id, abandon.signal).then(() => null);
    const project = { id, name: payload.name, tenant_id: tenantId, tenant_name: tenantName };
    return backend.create(project, abandon.signal);
  };

  async function failed(message: OutboxMessage, error: BackendError): Promise<void> {
    const { refused, unanswered = false } = error.failure;
    onAttempt(refused ? 'refused' : 'unavailable');
    if (!refused) noteBackend(true, error.message);
    else if (message.attempts === 1) {
      logger.warn(
        { project: message.subjectId, why: error.message },
        'the tracing backend rejected a project',
      );
    }
    const retrySeconds = retryDelayMs(message.attempts, error.failure, random) / 1000;
    await database.platform.transaction((transaction) =>
      recordFailed(transaction, message, {
        error: error.message,
        retrySeconds,
        isUnanswered: unanswered,
      }),
    );
  }

  async function send(message: OutboxMessage): Promise<void> {
    let backendId: string | null;
    try {
      backendId = await deliver(message);
    } catch (error) {
      if (error instanceof BackendError) return failed(message, error);
      if (!abandon.signal.aborted) throw error;
      return database.platform.transaction((transaction) => releaseMessage(transaction, message));
    }
    onAttempt('sent');
    noteBackend(false);
    await database.platform.transaction((transaction) => recordSent(transaction, message, backendId));
  }

  function begin(message: OutboxMessage): void {
    const sending = send(message)
      // The claim of the message expires, and the message is sent again.
      .catch((error) =>
        logger.warn(
          { err: String(error) },
          'failed to record the result of a message to the tracing backend',
        ),
      )
      .finally(() => {
        inFlight.delete(sending);
        pollNow();
      });
    inFlight.add(sending);
  }

  /** Claims due messages, up to the number that may be in flight. */
  async function pollOutbox(): Promise<void> {
    const limit = CONCURRENCY - inFlight.size;
    // Wakes when the first slot is free.
    if (limit === 0) return;
    const messages = await database.platform.transaction(async (transaction) => {
      await enqueueProjects(transaction, ENQUEUE_BATCH);
      return claimMessages(transaction, { limit, leaseSeconds });
    });
    for (const message of messages) begin(message);
  }

  async function run(): Promise<void> {
    while (!isStopping) {
      // The flag is reset before the query, so that a notification during the query is not missed.
      hint = Promise.withResolvers();
      await pollOutbox().catch((error) =>
        logger.warn({ err: String(error) }, 'failed to read the outbox; next: none, it is retried'),
      );
      const timer = setTimeout(pollNow, options.pollMs ?? POLL_MS);
      if (!isStopping) await hint.promise;
      clearTimeout(timer);
    }
  }

  const running = run();
  return {
    wake,
    async stop() {
      isStopping = true;
      if (hintTimer !== null) clearTimeout(hintTimer);
      pollNow();
      await running;
      const timer = setTimeout(() => abandon.abort(), options.stopGraceMs ?? STOP_GRACE_MS);
      await Promise.all(inFlight);
      clearTimeout(timer);
    },
  };
}
