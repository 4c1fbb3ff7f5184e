/** Steps and checks that plans of several kinds share. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { UntypedObject } from '../../../src/cluster/kube/client/object.ts';
import type { Resource } from '../../../src/cluster/kube/client/resources.ts';
import { appName } from '../../../src/contract/resource/names.ts';
import { waitFor } from '../../cluster/wait.ts';
import { isReady } from '../../integration/harness/berth-setup.ts';
import { smallDeployment } from '../../integration/harness/samples.ts';
import { markForeign } from '../oracles/foreign-fields.ts';
import type { Given, Violation, Workload } from '../plan.ts';
import type { SqlMessage } from '../proxies/postgres-traffic.ts';
import { SETTLED_MS } from '../record.ts';
import { callUntilSuccess } from '../retrying-client.ts';
import type { FaultRole, FaultWorld } from '../world.ts';

/** Collects the violations that a plan itself finds. */
export class Checks {
  readonly violations: Violation[] = [];

  /** Adds a violation unless the condition holds. @param message what was expected and what was found */
  that(holds: boolean, message: string, diff?: readonly string[]): void {
    if (!holds) this.violations.push({ oracle: 'plan', message, ...(diff === undefined ? {} : { diff }) });
  }

  /** Adds one violation for all lines. Adds nothing if there are no lines. */
  none(what: string, lines: readonly string[]): void {
    this.that(lines.length === 0, `${what}: ${lines[0]}`, lines);
  }
}

/** @param tag unique, so that the image identifies the change */
export const imageOf = (tag: string | number) => `registry.example/shop/web:${tag}`;

/** The body of a PATCH that changes the image. */
export const imageChange = (tag: string | number) => ({
  source_revision_config: { image_uri: imageOf(tag) },
});

/** Creates a deployment that is READY and has the marks of another manager (O7). Returns its id. */
export async function serving(world: FaultWorld, name: string): Promise<string> {
  const { id } = await world.create(smallDeployment(name));
  await world.ready(id);
  await markForeign(world, id);
  return id;
}

/** Changes the image, and retries until the API accepts the change. */
export async function changeImage(world: FaultWorld, id: string, tag: string | number): Promise<void> {
  await callUntilSuccess(world, 'PATCH', `/v2/deployments/${id}`, imageChange(tag));
}

/** The result of `work`. @throws Error if it is not available within `ms` milliseconds */
export async function inTime<T>(ms: number, what: string, work: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`${what}: no result within ${ms} ms`)), ms);
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** A positive integer from an environment variable, with which a run can be enlarged. @throws Error if it is not one */
export function numberFromEnvironment(name: string, fallback: number): number {
  const value = Number(process.env[name] ?? fallback);
  if (!Number.isInteger(value) || value < 1) throw new Error(`${name} must be a whole number above 0`);
  return value;
}

/** A deployment that is READY, has no work in progress, and has the marks of another manager (O7). */
export interface RunningDeployment {
  readonly id: string;
  /** Prefix of the names of its objects. */
  readonly app: string;
}

/** The resource_spec with which a deployment has every kind of object: an autoscaler, a disruption budget, a queue. */
export const ALL_KINDS = { min_scale: 2, max_scale: 4, queue_cpu: 0.1 };

/** Creates a deployment that is READY and idle. */
export async function runningDeployment(
  world: FaultWorld,
  resource_spec: object = {},
  name = 'shop',
): Promise<RunningDeployment> {
  const { id } = await world.create(smallDeployment(name, { source_config: { resource_spec } }));
  await world.ready(id);
  await markForeign(world, id);
  await world.quiet({ forMs: SETTLED_MS });
  return { id, app: appName(name, id) };
}

/** Changes a deployment, and retries until the API accepts the change. */
export const change = (world: FaultWorld, id: string, what: object) =>
  callUntilSuccess(world, 'PATCH', `/v2/deployments/${id}`, what);

/** The body of a PATCH that sets a fixed number of pods. */
export const scaleOf = (pods: number) => ({
  source_config: { resource_spec: { min_scale: pods, max_scale: pods } },
});

/** The object in the API server. @throws KubeError if it does not exist */
export const live = (world: FaultWorld, resource: Resource, name: string): Promise<UntypedObject> =>
  world.admin.get(resource, { namespace: world.namespace, name });

/** A violation of a check of the plan itself. */
export const broken = (message: string): Violation => ({ oracle: 'plan', message });

/** Whether the API reports that the desired state is reached. Checks once. */
export async function isUpToDate(world: FaultWorld, id: string): Promise<boolean> {
  const { status, body } = await world.call('GET', `/v2/deployments/${id}`);
  return status === 200 && isReady(body);
}

/** Returns a violation if `check` does not return a true value within the time. */
export async function within(
  seconds: number,
  what: string,
  check: () => Promise<unknown>,
): Promise<Violation[]> {
  try {
    const bound = { timeoutMs: seconds * 1000, intervalMs: 100, strict: true };
    await waitFor(what, async () => Boolean(await check()), bound);
    return [];
  } catch (error) {
    return [broken(error instanceof Error ? error.message : String(error))];
  }
}

/** Returns a violation if `check` returns false at any time during these seconds. */
export async function stays(
  seconds: number,
  what: string,
  check: () => Promise<boolean>,
): Promise<Violation[]> {
  const until = Date.now() + seconds * 1000;
  while (Date.now() < until) {
    if (!(await check())) return [broken(`${what} did not stay constant`)];
    await sleep(200);
  }
  return [];
}

/** The workload, and then the creation of a second deployment, which no fault affects and which must become READY. */
export function withSecondDeployment(workload: Workload): Workload {
  return {
    name: `${workload.name}-with-second-deployment`,
    prepare: workload.prepare,
    run: async (world, given) => {
      const now = await workload.run(world, given);
      const { id } = await world.create(smallDeployment('healthy'));
      await world.ready(id);
      return now;
    },
    end: workload.end,
  };
}

/** @throws Error if the workload has not created a deployment */
export function idOf({ id }: Given): string {
  if (id === undefined) throw new Error('the workload has not created a deployment');
  return id;
}

/** Does not wait until the role is ready, because what it needs may be down. */
export async function restartWithoutWaiting(world: FaultWorld, role: FaultRole): Promise<void> {
  await world.restart(role, { wait: false });
}

/** Prepares the workload, and waits until trailing reports have passed. */
export async function prepared(world: FaultWorld, workload: Workload): Promise<Given> {
  const given = await workload.prepare(world);
  await world.quiet({ forMs: SETTLED_MS });
  return given;
}

const GONE_MS = 90_000;

/** Resolves when the API no longer has the deployment. */
export async function untilGone(world: FaultWorld, id: string): Promise<void> {
  const isGone = async () => (await world.call('GET', `/v2/deployments/${id}`)).status === 404;
  await waitFor(`${id} to be gone`, isGone, { timeoutMs: GONE_MS, intervalMs: 100 });
}

/** Deletes a deployment, and resolves when the API no longer has it. */
export async function deleteUntilGone(world: FaultWorld, id: string): Promise<void> {
  await callUntilSuccess(world, 'DELETE', `/v2/deployments/${id}`);
  await untilGone(world, id);
}

/** Matches a statement of the API by its text, which the proxy records on one line. */
export function isStatement({ text }: { readonly text: string }): (message: SqlMessage) => boolean {
  const line = text.replace(/\s+/g, ' ').trim();
  return ({ client, sql }) => client === 'api' && sql === line;
}
