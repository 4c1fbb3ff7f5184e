import { createHmac } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import {
  type Delivery,
  deliveryKeys,
  isAuthentic,
  mayKnow,
  shownBy,
} from '../../../domain/builds/webhook-signature.ts';
import { UUID_PATTERN } from '../../../domain/core/id.ts';
import { findWebhookTarget, type WebhookTarget } from '../../store/builds/webhooks.ts';
import { SecretBoxError } from '../../store/core/errors.ts';
import type { ApiDeps } from '../core/deps.ts';
import { ApiError, wrongShape } from '../core/errors.ts';
import { parseJsonBody } from '../core/json-body.ts';
import { networkOf, type RateLimiter } from '../core/rate-limit.ts';
import { GrowingBuffer, type IntakeShare, WebhookIntake } from './webhook-intake.ts';

/**
 * Reads the body of a webhook delivery. The signature is checked before the content is used. A sender without the
 * secret gets the same response, in the same order and after the same work, whether or not the integration exists.
 * Checks of headers alone run before the body is read. The memory of unverified bodies is bounded.
 */

/** Maximum size of a body. A push event of GitHub lists up to 2,048 commits with their files. */
export const WEBHOOK_BODY_LIMIT = 8 * 1024 * 1024;

/**
 * Time limit of a body. A delivery occupies a slot until its body is complete, and git hosts wait at most 10 s for a
 * response.
 */
const BODY_MS = 5000;

/** A delivery whose signature is valid. */
export interface AuthenticDelivery {
  readonly target: WebhookTarget;
  readonly keys: readonly string[];
  readonly payload: object;
}

const deliveries = new WeakMap<FastifyRequest, AuthenticDelivery>();

/** The delivery of a request that `webhookBody` parsed; null: the request had no body. */
export function deliveryOf(request: FastifyRequest): AuthenticDelivery | null {
  return deliveries.get(request) ?? null;
}

/** The response for all cases that senders must not be able to distinguish. */
const refused = () =>
  new ApiError(404, 'The webhook does not exist, or the signature of the delivery is not valid.');

const tooLarge = () => new ApiError(413, 'The body is too large.');

/** Reads a body within `ms`. If the body is rejected before its end, the connection remains open for the response. */
async function* arriving(payload: Readable, ms: number): AsyncGenerator<Buffer> {
  const chunks = payload.iterator({ destroyOnReturn: false });
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () =>
      late.reject(
        new ApiError(408, 'The request did not arrive within the time limit. Deliver the request again.'),
      ),
    ms,
  );
  try {
    for (;;) {
      const next: Promise<IteratorResult<Buffer>> = chunks.next();
      const { done, value } = await Promise.race([next, late.promise]);
      if (done === true) return;
      yield value;
    }
  } finally {
    clearTimeout(timer);
  }
}

/** @param share null: the body is discarded and the result is empty, for the same amount of work */
async function read(payload: Readable, share: IntakeShare | null, ms: number): Promise<Buffer> {
  const kept = share === null ? null : new GrowingBuffer((bytes) => share.grow(bytes));
  const idle = createHmac('sha256', 'nobody');
  let size = 0;
  for await (const chunk of arriving(payload, ms)) {
    size += chunk.length;
    if (size > WEBHOOK_BODY_LIMIT) throw tooLarge();
    if (kept === null) idle.update(chunk);
    else kept.add(chunk);
  }
  return kept?.bytes ?? Buffer.alloc(0);
}

/** null: no integration has this id, or its secret cannot be decrypted. The response does not reveal which. */
async function findTarget(deps: ApiDeps, id: string, now: Date): Promise<WebhookTarget | null> {
  try {
    return await deps.database.platform.read((reader) => findWebhookTarget(reader, deps.secretBox, id, now));
  } catch (error) {
    if (!(error instanceof SecretBoxError)) throw error;
    deps.logger.error({ integrationId: id, err: error.message }, 'failed to read the secret of a webhook');
    return null;
  }
}

const FORM = 'application/x-www-form-urlencoded';

/** GitHub can send the JSON in the field `payload` of a form. The signature then covers the form. */
function payloadOf(request: FastifyRequest, body: Buffer): object {
  const isForm = request.headers['content-type']?.toLowerCase().startsWith(FORM) ?? false;
  const json = isForm ? Buffer.from(new URLSearchParams(body.toString()).get('payload') ?? '') : body;
  const payload = parseJsonBody(request, json);
  if (typeof payload === 'object' && payload !== null && !Array.isArray(payload)) return payload;
  throw wrongShape([{ loc: ['body'], msg: 'must be an object', type: 'invalid_type' }]);
}

/** The content types of deliveries. */
export const WEBHOOK_TYPES = ['application/json', FORM];

/** Reads and verifies the delivery; null: its signature matches no secret. */
async function judged(
  request: FastifyRequest,
  stream: Readable,
  { target, share, now, ms }: { target: WebhookTarget | null; share: IntakeShare; now: Date; ms: number },
): Promise<{ target: WebhookTarget; delivery: Delivery } | null> {
  const { headers } = request;
  const { provider, secrets } = target ?? { provider: 'git' as const, secrets: [] };
  const shown = shownBy(headers);
  const nothing = { headers, body: Buffer.alloc(0) };
  if (shown === null) return null;
  if (shown === 'token' && !isAuthentic(provider, nothing, secrets, now)) return null;
  if (Number(headers['content-length'] ?? 0) > WEBHOOK_BODY_LIMIT) throw tooLarge();
  const isKept = secrets.length > 0 && mayKnow(provider, headers);
  const delivery = { headers, body: await read(stream, isKept ? share : null, ms) };
  const isKnown = isAuthentic(provider, delivery, secrets, now);
  return target === null || !isKnown ? null : { target, delivery };
}

/** The parser of these content types. @throws ApiError 404, 408, 413, 415, 422, 429 */
export function webhookBody(
  deps: ApiDeps,
  limiter: RateLimiter,
  intake = new WebhookIntake(),
  bodyMs = BODY_MS,
) {
  const clock = deps.clock ?? (() => new Date());

  /** @throws ApiError. Counts the failure, also for a body that never ends */
  async function authentic(request: FastifyRequest, stream: Readable) {
    const { integration_id: id = '' } = request.params as { integration_id?: string };
    const isId = UUID_PATTERN.test(id);
    const share = intake.begin([`integration ${isId ? id.toLowerCase() : ''}`, networkOf(request.ip)]);
    try {
      const now = clock();
      const target = isId ? await findTarget(deps, id, now) : null;
      const whose = target?.integrationId;
      limiter.mayFail(request, whose);
      const found = await judged(request, stream, { target, share, now, ms: bodyMs }).catch((error) => {
        limiter.failure(request, whose);
        throw error;
      });
      if (found !== null) return found;
      limiter.failure(request, whose);
      throw refused();
    } finally {
      share.end();
    }
  }

  return async (request: FastifyRequest, stream: Readable): Promise<object> => {
    const encoding = request.headers['content-encoding'] ?? 'identity';
    if (encoding !== 'identity') throw new ApiError(415, 'The body must not be compressed.');
    const { target, delivery } = await authentic(request, stream);
    limiter.delivery(target.integrationId);
    const payload = payloadOf(request, delivery.body);
    deliveries.set(request, { target, keys: deliveryKeys(delivery), payload });
    return payload;
  };
}
