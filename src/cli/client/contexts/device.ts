import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { ApiProblem, isPassing } from '../call-problem.ts';
import { type Answer, type Client, createClient, type InputOf } from '../client.ts';
import { Interrupted } from '../exit-codes.ts';
import { cell } from '../table.ts';
import type { Issued } from './workload.ts';

/** The device grant of `berth login`: a person confirms the login in a browser. */

type Started = Answer<'post', '/v2/auth/device'>;
type Role = NonNullable<InputOf<'post', '/v2/auth/device'>['role']>;

/** Seconds that `slow_down` adds to the interval (RFC 8628, section 3.5). */
const SLOW_DOWN_SECONDS = 5;
const MAX_MACHINE = 128;

export interface DeviceLogin {
  readonly url: string;
  readonly tenant: string | undefined;
  readonly role: Role | undefined;
  readonly signal: AbortSignal;
  /** Prints a line for the user. */
  readonly note: (text: string) => void;
}

/** What the person recognizes on the page. */
function machineName(): string {
  const name = hostname()
    .replace(/[^\x20-\x7e]/g, '')
    .trim();
  return name === '' ? 'unknown' : name.slice(0, MAX_MACHINE);
}

/** What a poll means for the login. */
export type PollStep = 'wait' | 'slow_down' | 'failed';

/** @param error of the poll */
export function pollStep(error: unknown): PollStep {
  if (!(error instanceof ApiProblem)) return 'failed';
  const type = error.status === 400 ? error.reasons[0]?.type : undefined;
  if (type === 'authorization_pending') return 'wait';
  if (type === 'slow_down') return 'slow_down';
  // A connection that was lost, or an API that is busy, does not end the login.
  return isPassing(error) ? 'wait' : 'failed';
}

const EXPIRED = 'the code has expired before the login was confirmed';

const FAILURES: Readonly<Record<string, string>> = {
  access_denied: 'the login was denied in the browser',
  expired_token: EXPIRED,
  invalid_grant: 'the login was already completed: its response was lost, or someone else has used it',
};

const failed = (message: string) => new ApiProblem(400, message, 'run berth login again');

function failureOf(error: unknown): unknown {
  const type = error instanceof ApiProblem ? error.reasons[0]?.type : undefined;
  const message = type === undefined ? undefined : FAILURES[type];
  return message === undefined ? error : failed(message);
}

async function poll(client: Client, started: Started, signal: AbortSignal): Promise<Issued> {
  const end = performance.now() + started.expires_in * 1000;
  let seconds = started.interval;
  const body = {
    grant_type: 'urn:ietf:params:oauth:grant-type:device_code' as const,
    device_code: started.device_code,
  };
  for (;;) {
    await delay(seconds * 1000, undefined, { signal }).catch(() => {
      throw new Interrupted();
    });
    try {
      return await client.POST('/v2/auth/token', { body });
    } catch (error) {
      const step = pollStep(error);
      if (step === 'failed') throw failureOf(error);
      if (performance.now() > end) throw failed(EXPIRED);
      if (step === 'slow_down') seconds += SLOW_DOWN_SECONDS;
    }
  }
}

/**
 * Starts a login, prints the code, and waits until a person has confirmed it.
 * @throws ApiProblem when the API has no sign-in, or the login was denied or has expired; Interrupted
 */
export async function deviceLogin({ url, tenant, role, signal, note }: DeviceLogin): Promise<Issued> {
  const client = createClient({ url, signal });
  const started = await client.POST('/v2/auth/device', {
    body: {
      machine: machineName(),
      ...(tenant === undefined ? {} : { tenant }),
      ...(role === undefined ? {} : { role }),
    },
  });
  const minutes = Math.round(started.expires_in / 60);
  note(`Open this page in a browser:  ${cell(started.verification_uri)}`);
  note(`and enter the code:           ${cell(started.user_code)}`);
  note(`The code is valid for ${minutes} minutes. Waiting…`);
  return poll(client, started, signal);
}
