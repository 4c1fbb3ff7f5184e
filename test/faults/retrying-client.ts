/** A client that retries until it gets an answer, with an idempotency key. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer, DeploymentAnswer } from '../integration/harness/berth-setup.ts';
import type { FaultWorld } from './world.ts';

const GIVE_UP_MS = 90_000;
const PAUSE_MS = 250;

/** Not answered, or told to come again. */
const isToRepeat = (status: number) => status === 429 || status >= 500;

/**
 * Calls the API until it answers something final; a POST carries one Idempotency-Key through all of its tries.
 * @throws Error with the last problem after 90 s
 */
export async function callUntilAnswered<T = DeploymentAnswer>(
  world: FaultWorld,
  method: string,
  path: string,
  body?: unknown,
): Promise<Answer<T>> {
  const headers: Record<string, string> = method === 'POST' ? { 'idempotency-key': randomUUID() } : {};
  const until = Date.now() + GIVE_UP_MS;
  let problem = '';
  while (Date.now() < until) {
    try {
      const answer = await world.call<T>(method, path, body, headers);
      if (!isToRepeat(answer.status)) return answer;
      problem = `${answer.status} ${JSON.stringify(answer.body)}`;
    } catch (error) {
      problem = String(error instanceof Error ? (error.cause ?? error) : error);
    }
    await sleep(PAUSE_MS);
  }
  throw new Error(`failed to ${method} ${path} within ${GIVE_UP_MS / 1000} s: ${problem}`);
}

/** As `callUntilAnswered`, and the answer is a success. @throws Error with the answer when it is not */
export async function callUntilSuccess<T = DeploymentAnswer>(
  ...args: Parameters<typeof callUntilAnswered>
): Promise<T> {
  const answer = await callUntilAnswered<T>(...args);
  if (answer.status >= 300)
    throw new Error(`${args[1]} ${args[2]} was refused: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}
