/** Applies a fault to an HTTP request. */
import type { IncomingMessage } from 'node:http';
import { addAbortSignal } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { HttpExchange } from './http-exchange.ts';
import type { HttpFault, HttpRequest } from './http-traffic.ts';
import { callRule } from './rules.ts';

/** What differs between the proxies. */
export interface Serving {
  /** The default body of the fault `answer`. */
  errorBody(status: number): unknown;
  /** Delivers the response of the server to the client. Default: streams it unchanged. */
  deliver?(answer: IncomingMessage): Promise<void>;
}

/** Completes an exchange: applies its fault, or forwards the request if it has no fault. */
export async function serve<R extends HttpRequest>(
  exchange: HttpExchange<R>,
  fault: HttpFault<R> | undefined,
  serving: Serving,
): Promise<void> {
  const deliver = serving.deliver ?? ((answer) => exchange.deliver(answer));
  switch (fault?.kind) {
    case undefined:
      return deliver(await exchange.forward(false));
    case 'delay':
      await delay(fault.ms, undefined, { signal: exchange.gone });
      return deliver(await exchange.forward(false));
    case 'answer': {
      const body = fault.body === undefined ? serving.errorBody(fault.status) : fault.body;
      const headers = { 'content-type': 'application/json', ...fault.headers };
      return exchange.answer(fault.status, headers, JSON.stringify(body));
    }
    case 'refuse':
      return exchange.reset();
    case 'hold':
      return;
    case 'before':
      await callRule(() => fault.run(exchange.request));
      if (await exchange.isAwaited()) await deliver(await exchange.forward(false));
      return;
    case 'lose': {
      const answer = await exchange.forward(true);
      await consume(answer, exchange.request);
      callRule(() => fault.run?.(exchange.request, answer.statusCode ?? 0));
      return exchange.reset();
    }
    case 'after': {
      const answer = await exchange.forward(true);
      await callRule(() => fault.run(exchange.request, answer.statusCode ?? 0));
      try {
        return await deliver(addAbortSignal(exchange.gone, answer));
      } finally {
        await reportDelivery(exchange, fault);
      }
    }
  }
}

async function reportDelivery<R extends HttpRequest>(
  exchange: HttpExchange<R>,
  { passedOn }: Extract<HttpFault<R>, { kind: 'after' }>,
): Promise<void> {
  if (passedOn === undefined) return;
  const isDelivered = await exchange.isDelivered();
  callRule(() => passedOn(isDelivered));
}

/** Reads the response to its end, so that the server has completed the request. An endless stream (a watch) is closed immediately. */
async function consume(answer: IncomingMessage, { path }: HttpRequest): Promise<void> {
  if (/[?&](watch|follow)=(true|1)/.test(path)) answer.destroy();
  else for await (const _ of answer);
}
