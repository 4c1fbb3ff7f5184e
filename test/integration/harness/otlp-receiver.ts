/** An OTLP receiver on loopback: receives spans over HTTP as protobuf, and decodes them. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** A span that came in, with the attributes of its resource. */
export interface ReceivedSpan {
  readonly name: string;
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** Traces that it links to. */
  readonly links: readonly string[];
  readonly resource: Readonly<Record<string, string>>;
  /** Of the request that brought it. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** Fields of a message by number; only length-delimited ones, which is all that is looked at. */
type Message = ReadonlyMap<number, readonly Buffer[]>;

/** https://protobuf.dev/programming-guides/encoding/ */
function decode(bytes: Buffer): Message {
  const fields = new Map<number, Buffer[]>();
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = bytes.readUInt8(at++);
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const tag = varint();
    const [field, wire] = [Math.floor(tag / 8), tag % 8];
    if (wire === 0) varint();
    else if (wire === 1) at += 8;
    else if (wire === 5) at += 4;
    else if (wire === 2) {
      const length = varint();
      fields.set(field, [...(fields.get(field) ?? []), bytes.subarray(at, at + length)]);
      at += length;
    } else throw new Error(`failed to decode protobuf: wire type ${wire}`);
  }
  return fields;
}

const messages = (message: Message, field: number): Message[] => (message.get(field) ?? []).map(decode);
const hex = (message: Message, field: number): string => message.get(field)?.[0]?.toString('hex') ?? '';
const text = (message: Message, field: number): string => message.get(field)?.[0]?.toString('utf8') ?? '';

/** opentelemetry/proto/collector/trace/v1/trace_service.proto: ExportTraceServiceRequest. */
function spansOf(body: Buffer, headers: ReceivedSpan['headers']): ReceivedSpan[] {
  return messages(decode(body), 1).flatMap((resourceSpans) => {
    const attributes = messages(resourceSpans, 1).flatMap((resource) => messages(resource, 1));
    const resource = Object.fromEntries(
      attributes.map((pair) => [
        text(pair, 1),
        messages(pair, 2)
          .map((value) => text(value, 1))
          .join(''),
      ]),
    );
    const spans = messages(resourceSpans, 2).flatMap((scopeSpans) => messages(scopeSpans, 2));
    return spans.map((span) => ({
      name: text(span, 5),
      traceId: hex(span, 1),
      links: messages(span, 13).map((link) => hex(link, 1)),
      resource,
      headers,
    }));
  });
}

export interface OtlpReceiver {
  /** What BERTH_OTLP_ENDPOINT is to be. */
  readonly endpoint: string;
  readonly spans: ReceivedSpan[];
  stop(): Promise<void>;
}

/** Starts it. */
export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const server = createServer((request, response) => {
    buffer(request)
      .then((body) => {
        const isTraces =
          request.url === '/v1/traces' && request.headers['content-type'] === 'application/x-protobuf';
        if (isTraces) spans.push(...spansOf(body, request.headers));
        response.writeHead(isTraces ? 200 : 415, { 'content-type': 'application/x-protobuf' }).end();
      })
      .catch(() => response.writeHead(400).end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
