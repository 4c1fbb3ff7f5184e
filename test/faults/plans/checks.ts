/** What the named plans have in common: deployments that serve, changes that are told apart, and what was found wrong. */
import { smallDeployment } from '../../integration/harness/samples.ts';
import { markForeign } from '../oracles/foreign-fields.ts';
import type { Violation } from '../plan.ts';
import { callUntilSuccess } from '../retrying-client.ts';
import type { FaultWorld } from '../world.ts';

/** Collects what a plan itself asks for and does not find. */
export class Checks {
  readonly violations: Violation[] = [];

  /** @param message what was expected and what was found */
  that(holds: boolean, message: string, diff?: readonly string[]): void {
    if (!holds) this.violations.push({ oracle: 'plan', message, ...(diff === undefined ? {} : { diff }) });
  }

  /** One violation for all of the lines; none where there are none. */
  none(what: string, lines: readonly string[]): void {
    this.that(lines.length === 0, `${what}: ${lines[0]}`, lines);
  }
}

/** @param tag one that nothing else has, so that it is known again */
export const imageOf = (tag: string | number) => `registry.example/shop/web:${tag}`;

export const imageChange = (tag: string | number) => ({
  source_revision_config: { image_uri: imageOf(tag) },
});

/** A new deployment, READY, with the marks of another manager (O7). Returns its id. */
export async function serving(world: FaultWorld, name: string): Promise<string> {
  const { id } = await world.create(smallDeployment(name));
  await world.ready(id);
  await markForeign(world, id);
  return id;
}

/** A change of the image, insisted on until it is taken. */
export async function changeImage(world: FaultWorld, id: string, tag: string | number): Promise<void> {
  await callUntilSuccess(world, 'PATCH', `/v2/deployments/${id}`, imageChange(tag));
}

/** Fails unless what it awaits comes in time. */
export async function inTime<T>(ms: number, what: string, work: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`${what}: not within ${ms} ms`)), ms);
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** A whole number from the environment, so that a run on another machine may ask for more. */
export function numberFromEnvironment(name: string, fallback: number): number {
  const value = Number(process.env[name] ?? fallback);
  if (!Number.isInteger(value) || value < 1) throw new Error(`${name} must be a whole number above 0`);
  return value;
}
