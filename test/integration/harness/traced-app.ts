/** Plays an application: reports one span with OpenTelemetry's SDK, which reads its settings from the environment. */
import { trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { detectResources, envDetector, serviceNameEnvDetector } from '@opentelemetry/resources';
import { SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';

const provider = new TracerProvider({
  resource: detectResources({ detectors: [envDetector, serviceNameEnvDetector] }),
  spanProcessors: [new SimpleSpanProcessor({ exporter: new OTLPTraceExporter() })],
});
trace.setGlobalTracerProvider(provider);
trace.getTracer('traced-app').startSpan('work').end();
await provider.forceFlush();
await provider.shutdown();
