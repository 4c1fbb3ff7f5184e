/** A client that retries until it gets an answer, with an idempotency key. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer, DeploymentAnswer } from '../integration/harness/berth-setup.ts';
import type { FaultWorld } from './world.ts';

const TIMEOUT_MS = 90_000;
const PAUSE_MS = 250;

/** Whether the call may succeed if it is repeated: an error of the server, or a rate limit. */
const isToRepeat = (status: number) => status === 429 || status >= 500;

/**
 * Calls the API and retries until the response is final. All attempts of a POST have the same Idempotency-Key.
 * @throws Error with the last problem after 90 s
 */
export async function callUntilAnswered<T = DeploymentAnswer>(
  world: FaultWorld,
  method: string,
  path: string,
  body?: unknown,
): Promise<Answer<T>> {
  const headers: Record<string, string> = method === 'POST' ? { 'idempotency-key': randomUUID() } : {};
  const until = Date.now() + TIMEOUT_MS;
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
  throw new Error(`failed to ${method} ${path} within ${TIMEOUT_MS / 1000} s: ${problem}`);
}

/** As `callUntilAnswered`. @throws Error also if the final response is not a success */
export async function callUntilSuccess<T = DeploymentAnswer>(
  ...args: Parameters<typeof callUntilAnswered>
): Promise<T> {
  const answer = await callUntilAnswered<T>(...args);
  if (answer.status >= 300)
    throw new Error(`${args[1]} ${args[2]} was rejected: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}
