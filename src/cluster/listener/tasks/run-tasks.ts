import {
  MAX_TASK_REPORTS,
  type TaskOrder,
  type TaskReport,
} from '../../../contract/protocol/task-protocol.ts';
import { MAX_WAIT_SECONDS } from '../../../contract/protocol/work-protocol.ts';
import { DEPLOYMENT_TASK } from '../../../contract/resource/definition.ts';
import { ANNOTATIONS } from '../../../contract/resource/names.ts';
import { Reflector } from '../../kube/cache/reflector.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { sleep } from '../../kube/client/clock.ts';
import { hasResource } from '../../kube/client/discovery.ts';
import { isKubeError, KubeError } from '../../kube/client/errors.ts';
import { keyOf } from '../../kube/client/object.ts';
import { RESOURCES } from '../../kube/client/resources.ts';
import type { ResourceView } from '../resource-view.ts';
import { backOff, type HubFailureOptions } from '../session/hub-backoff.ts';
import { type HubClient, HubError } from '../session/hub-client.ts';
import { failedReport, isOfOrder, reportOf, type TaskObject, taskResource } from './task-reports.ts';

/**
 * Runs the tasks of the hub: creates their custom resources, passes cancellations on, and reports statuses, also of tasks that
 * were created in the cluster. Level-triggered: each step is derived from the orders of the hub and the custom resources.
 */

export interface RunTasksOptions extends HubFailureOptions {
  readonly client: KubeClient;
  readonly hub: Pick<HubClient, 'taskOrders' | 'reportTasks'>;
  readonly view: Pick<ResourceView, 'covers' | 'get'>;
  /** Namespaces to work in; empty: all. */
  readonly namespaces: readonly string[];
  /** Fires to stop. */
  readonly signal: AbortSignal;
}

const RETRY = { baseMs: 300, capMs: 10_000 };
/** Pause before the next poll of an older hub, which does not have this call. */
const OLD_HUB_PAUSE_MS = 300_000;
/** Interval of the check whether the cluster has the custom resource. */
const DISCOVERY_MS = 10_000;
/** Interval in which the orders are compared with the cluster without an event. */
const COMPARE_MS = 15_000;
/** Pause in which several changes cause one comparison. */
const GATHER_MS = 100;

const NO_DEFINITION = `the cluster has no ${DEPLOYMENT_TASK.plural}.${DEPLOYMENT_TASK.group}: install the CustomResourceDefinitions of Berth`;

/** Resolves when the signal has fired. Never rejects. */
export async function runTasks(options: RunTasksOptions): Promise<void> {
  const running = new TaskRun(options);
  await Promise.all([running.poll(), running.act()]);
}

class TaskRun {
  readonly #options: RunTasksOptions;
  readonly #reflectors: Reflector<TaskObject>[];
  /** Keys of custom resources to report. */
  readonly #changed = new Set<string>();
  #orders: readonly TaskOrder[] = [];
  /** Ids of orders whose custom resource this process has seen. The hub may not know it yet when it is removed. */
  #seen = new Set<string>();
  #wake: () => void = () => undefined;
  #isStarted = false;

  constructor(options: RunTasksOptions) {
    this.#options = options;
    const { client, logger, clock, namespaces } = options;
    const names = namespaces.length === 0 ? [''] : [...new Set(namespaces)];
    this.#reflectors = names.map((namespace) => {
      const scope = namespace === '' ? {} : { namespace };
      return new Reflector<TaskObject>({
        client,
        resource: RESOURCES.DeploymentTask,
        logger,
        clock,
        ...scope,
      });
    });
    const changed = (task: TaskObject) => {
      this.#changed.add(keyOf(task));
      this.#wake();
    };
    for (const reflector of this.#reflectors)
      reflector.addHandlers({ added: changed, updated: changed, deleted: changed });
  }

  /** Polls the hub for the tasks that have not ended. */
  async poll(): Promise<void> {
    const { hub, term, signal, clock } = this.#options;
    let known = '';
    let failures = 0;
    while (!signal.aborted) {
      try {
        const query = { epoch: term.epoch, waitSeconds: MAX_WAIT_SECONDS, known };
        const { version, orders } = await hub.taskOrders(query, { signal });
        known = version;
        this.#orders = orders;
        this.#seen = new Set(orders.map(({ task_id: id }) => id).filter((id) => this.#seen.has(id)));
        failures = 0;
        this.#wake();
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof HubError && error.isOfOlderHub) await sleep(clock, OLD_HUB_PAUSE_MS, signal);
        else {
          failures += 1;
          await backOff('get tasks', error, failures, RETRY, this.#options, signal);
        }
      }
    }
  }

  /** Compares orders and custom resources after each change. */
  async act(): Promise<void> {
    const { signal, clock } = this.#options;
    let failures = 0;
    try {
      while (!signal.aborted) {
        const woken = new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        try {
          await this.#compare();
          failures = 0;
          const idle = new AbortController();
          await Promise.race([woken, sleep(clock, COMPARE_MS, AbortSignal.any([signal, idle.signal]))]);
          idle.abort();
          await sleep(clock, GATHER_MS, signal);
        } catch (error) {
          if (signal.aborted) return;
          failures += 1;
          await backOff('run tasks', error, failures, RETRY, this.#options, signal);
        }
      }
    } finally {
      if (this.#isStarted) await Promise.all(this.#reflectors.map((reflector) => reflector.stop()));
    }
  }

  async #compare(): Promise<void> {
    const { signal } = this.#options;
    if (!(await this.#hasStarted())) {
      await this.#send(
        this.#orders.filter(this.#covers).map((order) => failedReport(order, 'Refused', NO_DEFINITION)),
      );
      return;
    }
    const reports: TaskReport[] = [];
    for (const order of this.#orders.filter(this.#covers)) {
      const report = await this.#carryOut(order);
      if (report !== null) reports.push(report);
      if (signal.aborted) return;
    }
    const keys = [...this.#changed];
    this.#changed.clear();
    for (const key of keys) {
      const report = this.#reportOf(this.#get(key));
      if (report !== null) reports.push(report);
    }
    try {
      await this.#send(reports);
    } catch (error) {
      // The states are read again, so that the next report has the newest ones.
      for (const key of keys) this.#changed.add(key);
      throw error;
    }
  }

  readonly #covers = ({ namespace }: TaskOrder) => this.#options.view.covers(namespace);

  /** Starts the caches as soon as the cluster has the custom resource. */
  async #hasStarted(): Promise<boolean> {
    const { client, signal, clock } = this.#options;
    if (this.#isStarted) return true;
    const { apiVersion, plural } = DEPLOYMENT_TASK;
    if (!(await hasResource(client, apiVersion, plural, signal))) {
      await sleep(clock, DISCOVERY_MS, signal);
      return false;
    }
    for (const reflector of this.#reflectors) reflector.start();
    this.#isStarted = true;
    await Promise.all(this.#reflectors.map((reflector) => reflector.waitForSync(signal)));
    return true;
  }

  #get(key: string): TaskObject | undefined {
    return this.#reflectors.map(({ store }) => store.get(key)).find((found) => found !== undefined);
  }

  #reportOf(task: TaskObject | undefined): TaskReport | null {
    if (task === undefined) return null;
    const { namespace } = task.metadata;
    const deployment = this.#options.view.get(namespace, task.spec.deployment);
    return reportOf(task, deployment?.spec?.deploymentId);
  }

  /** Creates or cancels the custom resource. @returns a report if the task has ended without its custom resource */
  async #carryOut(order: TaskOrder): Promise<TaskReport | null> {
    const { client, signal, term } = this.#options;
    const at = { namespace: order.namespace, name: order.name };
    const found = this.#get(keyOf(at)) ?? (await this.#live(at));
    if (found !== undefined) this.#seen.add(order.task_id);
    // A listener whose lease has expired writes nothing.
    if (!term.isValid()) return null;
    if (found === undefined) {
      const wasCreated = order.observed || this.#seen.has(order.task_id);
      return wasCreated ? this.#lost(order) : this.#create(order);
    }
    if (order.origin !== 'custom-resource' && !isOfOrder(found, order))
      return failedReport(order, 'Refused', `another DeploymentTask has the name ${order.name}`);
    if (order.cancel && found.metadata.annotations?.[ANNOTATIONS.cancel] !== 'true') {
      const patch = { metadata: { annotations: { [ANNOTATIONS.cancel]: 'true' } } };
      await client.patch(RESOURCES.DeploymentTask, at, patch, { signal });
    }
    return null;
  }

  /** A cache may be behind, and a task must not start twice. */
  #live(at: { namespace: string; name: string }): Promise<TaskObject | undefined> {
    return this.#options.client.find<TaskObject>(RESOURCES.DeploymentTask, at, {
      signal: this.#options.signal,
    });
  }

  #lost(order: TaskOrder): TaskReport {
    return failedReport(order, 'JobLost', 'its DeploymentTask was removed before its result was reported');
  }

  async #create(order: TaskOrder): Promise<TaskReport | null> {
    const { client, signal, view, logger } = this.#options;
    const uid = view.get(order.namespace, order.deployment)?.metadata.uid;
    try {
      const created = await client.create(taskResource(order, uid), { signal });
      this.#seen.add(order.task_id);
      this.#changed.add(keyOf(created));
      for (const reflector of this.#reflectors) reflector.noteWrite(created);
      logger.info(
        { taskId: order.task_id, task: keyOf(created), deploymentId: order.deployment_id },
        'created a task',
      );
      return null;
    } catch (error) {
      if (isKubeError(error, 'already_exists')) return null;
      const final = ['forbidden', 'invalid', 'bad_request'] as const;
      if (!(error instanceof KubeError) || !isKubeError(error, ...final)) throw error;
      return failedReport(order, 'Refused', `the cluster rejected the task: ${error.message}`.slice(0, 1000));
    }
  }

  async #send(reports: readonly TaskReport[]): Promise<void> {
    const { hub, term, signal } = this.#options;
    for (let from = 0; from < reports.length; from += MAX_TASK_REPORTS) {
      const batch = reports.slice(from, from + MAX_TASK_REPORTS);
      await hub.reportTasks({ epoch: term.epoch, reports: batch }, { signal });
    }
  }
}
