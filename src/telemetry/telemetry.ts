import { diag, type Link, ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  type IdGenerator,
  RandomIdGenerator,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Logger } from '../domain/core/logger.ts';
import { type RecordSpan, type SpanReport, traceIdOf } from '../domain/core/span.ts';

/** Exports the traces of Berth itself over OTLP. This module is loaded only if traces are enabled. */

export interface TelemetryOptions {
  /** Base URL of an OTLP receiver over HTTP; /v1/traces is below it. */
  readonly endpoint: string;
  /** Headers of each export, with credentials. */
  readonly headers: Readonly<Record<string, string>>;
  /** Fraction of changes that is traced, from 0 to 1. Every role traces the same changes. */
  readonly sample: number;
  readonly role: string;
  readonly version: string;
  /** Unique per process. */
  readonly identity: string;
  readonly logger: Logger;
}

export interface Telemetry {
  readonly span: RecordSpan;
  /** Exports the remaining spans, within a time limit. */
  stop(): Promise<void>;
}

/** Timeout of an export, so that a receiver that does not respond causes no longer delay. */
const EXPORT_TIMEOUT_MS = 5_000;
const STOP_TIMEOUT_MS = 2_000;
const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/;

/** Generates ids. The trace id of the next span, which the code that starts a span sets synchronously before. */
class ChangeIds implements IdGenerator {
  readonly #random = new RandomIdGenerator();
  traceId = '';

  generateTraceId(): string {
    return this.traceId;
  }

  generateSpanId(): string {
    return this.#random.generateSpanId();
  }
}

function linksOf({ causedBy = '' }: SpanReport): Link[] {
  const [, traceId, spanId] = TRACEPARENT.exec(causedBy) ?? [];
  if (traceId === undefined || spanId === undefined) return [];
  return [{ context: { traceId, spanId, traceFlags: TraceFlags.NONE, isRemote: true } }];
}

function attributesOf({ attributes, change }: SpanReport): Record<string, string | number> {
  const all = Object.entries({
    ...attributes,
    'berth.deployment_id': change.deploymentId,
    'berth.generation': change.generation,
  });
  return Object.fromEntries(all.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}

/** Starts the export of spans. If the receiver is not available, spans are buffered up to a limit and then dropped. */
export function startTelemetry(options: TelemetryOptions): Telemetry {
  const { endpoint, headers, sample, role, version, identity, logger } = options;
  const logFailure = (message: string) => logger.warn({ err: message }, 'failed to send traces');
  diag.setLogger({ error: logFailure, warn: logFailure, info() {}, debug() {}, verbose() {} });
  const ids = new ChangeIds();
  const exporter = new OTLPTraceExporter({
    url: `${endpoint}/v1/traces`,
    headers: { ...headers },
    timeoutMillis: EXPORT_TIMEOUT_MS,
  });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.name': `berth-${role}`,
      'service.version': version,
      'service.instance.id': identity,
    }),
    sampler: new TraceIdRatioBasedSampler(sample),
    idGenerator: ids,
    spanProcessors: [new BatchSpanProcessor({ exporter })],
  });
  const tracer = provider.getTracer('berth', version);
  return {
    span(report) {
      ids.traceId = traceIdOf(report.change);
      const span = tracer.startSpan(
        report.name,
        {
          kind: report.attributes['http.request.method'] === undefined ? SpanKind.INTERNAL : SpanKind.SERVER,
          startTime: report.beganAt,
          attributes: attributesOf(report),
          links: linksOf(report),
        },
        ROOT_CONTEXT,
      );
      if (report.error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: report.error });
      span.end(report.endedAt);
    },
    async stop() {
      const late = new Promise<void>((resolve) => setTimeout(resolve, STOP_TIMEOUT_MS).unref());
      await Promise.race([provider.shutdown(), late]).catch((error) => logFailure(String(error)));
    },
  };
}
