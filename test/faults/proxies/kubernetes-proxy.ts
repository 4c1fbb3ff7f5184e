/** The proxy in front of the API server. */
import { readFile, writeFile } from 'node:fs/promises';
import type http from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import type { Server } from 'node:net';
import path from 'node:path';
import { parse } from 'yaml';
import { loadClusterAccess } from '../../../src/cluster/kube/access/cluster-access.ts';
import { selfSigned } from '../../unit/cluster/kube/self-signed.ts';
import type { HttpExchange, Upstream } from './http-exchange.ts';
import { serve } from './http-faults.ts';
import { HttpProxy } from './http-proxy.ts';
import type { HttpRequest } from './http-traffic.ts';
import { ListRecords } from './kubernetes-lists.ts';
import { describeKubernetesRequest, isStreamedList } from './kubernetes-request.ts';
import type {
  KubernetesFault,
  KubernetesProxy,
  KubernetesRequest,
  KubernetesRule,
} from './kubernetes-traffic.ts';
import { isWatchFault, OpenWatch } from './kubernetes-watch.ts';
import { RuleFailure, type RuleInForce } from './rules.ts';

type Rule = RuleInForce<KubernetesRequest, KubernetesFault>;
type Exchange = HttpExchange<KubernetesRequest>;

/** The API server allows the same number of streams per connection. */
const SETTINGS: http2.Settings = { maxConcurrentStreams: 100, initialWindowSize: 1024 * 1024 };
const MAX_SESSION_MEMORY_MB = 256;
/** The bookmark that ends a streamed list, and the maximum length of its line. */
const END_OF_LIST = /"type":"BOOKMARK"[^\n]*"k8s\.io\/initial-events-end":"true"[^\n]*\n$/;
const LAST_BOOKMARK = 4096;
/** Shorter than the idle timeout of the API server (90 s), so that no request uses a connection that it is closing. */
const IDLE_MS = 30_000;

const REASONS: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  410: 'Expired',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

function statusBody(code: number): object {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: `answered by the proxy: ${code}`,
    reason: REASONS[code] ?? '',
    code,
  };
}

class FaultyKubernetes extends HttpProxy<KubernetesRequest, KubernetesFault> implements KubernetesProxy {
  readonly #folder: string;
  readonly #certificate = selfSigned();
  readonly #lists = new ListRecords();
  readonly #watches = new Set<OpenWatch>();
  #files = 0;

  constructor(folder: string) {
    super();
    this.#folder = folder;
  }

  async kubeconfigFor(client: string, kubeconfig: string): Promise<string> {
    const { user, namespace } = await currentContext(kubeconfig);
    const port = await this.portFor(client, await upstreamOf(kubeconfig));
    const certificate = Buffer.from(this.#certificate.cert).toString('base64');
    const content = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [
        {
          name: 'proxy',
          cluster: { server: `https://127.0.0.1:${port}`, 'certificate-authority-data': certificate },
        },
      ],
      users: [{ name: client, user }],
      contexts: [{ name: 'proxy', context: { cluster: 'proxy', user: client, namespace } }],
      'current-context': 'proxy',
    };
    this.#files += 1;
    const file = path.join(this.#folder, `${client}-${this.#files}.kubeconfig`);
    await writeFile(file, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 });
    return file;
  }

  override add(rule: KubernetesRule): Rule {
    const added = super.add(rule);
    if (isWatchFault(rule.fault))
      for (const watch of this.#watches) if (added.takes(watch.request)) watch.attach(added);
    return added;
  }

  openWatches(client?: string): KubernetesRequest[] {
    const requests = [...this.#watches].map(({ request }) => request);
    return requests.filter((request) => client === undefined || request.client === client);
  }

  recordLists(resource: string): void {
    this.#lists.start(resource);
  }

  /** Supports HTTP/2 and HTTP/1.1 by ALPN, like kube-apiserver. */
  protected override createServer(handler: http.RequestListener): Server {
    const server = http2.createSecureServer({
      ...this.#certificate,
      allowHTTP1: true,
      settings: SETTINGS,
      maxSessionMemory: MAX_SESSION_MEMORY_MB,
    });
    // The compatibility API gives HTTP/2 requests the interface of HTTP/1.1 requests.
    server.on('request', handler as unknown as (request: http2.Http2ServerRequest) => void);
    // Errors are expected, because clients are killed and connections are cut.
    for (const event of ['tlsClientError', 'sessionError', 'clientError']) server.on(event, () => undefined);
    return server;
  }

  protected override describe(request: HttpRequest, headers: http.IncomingHttpHeaders): KubernetesRequest {
    return describeKubernetesRequest(request, headers['content-type'] ?? '');
  }

  protected override async serve(exchange: Exchange, rule: Rule | undefined): Promise<void> {
    const { request } = exchange;
    const fault = rule?.fault;
    if (fault?.kind === 'stale-list') return this.#answerStale(exchange);
    const watchRule = isWatchFault(fault) ? rule : undefined;
    await serve(exchange, isWatchFault(fault) ? undefined : fault, {
      errorBody: statusBody,
      deliver: (answer) => {
        const isGood = answer.statusCode === 200 && isJson(answer);
        const isStream = request.verb === 'watch' || (watchRule !== undefined && isStreamedList(request));
        if (isStream && isGood) return this.#deliverWatch(exchange, answer, watchRule);
        if (this.#lists.isWanted(request) && isGood) return this.#deliverRecorded(exchange, answer);
        return exchange.deliver(answer);
      },
    });
  }

  async #deliverWatch(
    exchange: Exchange,
    answer: http.IncomingMessage,
    rule: Rule | undefined,
  ): Promise<void> {
    exchange.head(200, answer.headers);
    exchange.noteNow();
    const watch = new OpenWatch(exchange, answer);
    this.#watches.add(watch);
    try {
      if (rule !== undefined) watch.attach(rule);
      await watch.run();
    } finally {
      this.#watches.delete(watch);
    }
  }

  async #deliverRecorded(exchange: Exchange, answer: http.IncomingMessage): Promise<void> {
    const chunks: Buffer[] = [];
    let end = '';
    for await (const chunk of answer) {
      chunks.push(chunk as Buffer);
      // The stream itself does not end, so the proxy stops at the bookmark that ends the list.
      end = (end + (chunk as Buffer).toString('latin1')).slice(-LAST_BOOKMARK);
      if (end.endsWith('\n') && isStreamedList(exchange.request) && END_OF_LIST.test(end)) break;
    }
    const list = { headers: answer.headers, body: Buffer.concat(chunks).toString('utf8') };
    this.#lists.keep(exchange.request, list);
    exchange.answer(200, list.headers, list.body);
  }

  #answerStale(exchange: Exchange): void {
    const list = this.#lists.find(exchange.request);
    if (list === undefined)
      throw new RuleFailure(new Error(`no LIST of ${exchange.request.path} was recorded`));
    exchange.answer(200, list.headers, list.body);
  }
}

/** Protobuf, which Go clients request, is passed on unchanged. */
function isJson({ headers }: http.IncomingMessage): boolean {
  return headers['content-type']?.startsWith('application/json') === true;
}

interface Kubeconfig {
  'current-context': string;
  contexts: { name: string; context: { user: string; namespace?: string } }[];
  users: { name: string; user: object }[];
}

/** User and namespace of the current context. */
async function currentContext(kubeconfig: string): Promise<{ user?: object; namespace?: string }> {
  const content = parse(await readFile(kubeconfig, 'utf8')) as Kubeconfig;
  const context = content.contexts.find(({ name }) => name === content['current-context'])?.context;
  const user = content.users.find(({ name }) => name === context?.user)?.user;
  return { user, namespace: context?.namespace };
}

/** The API server of a kubeconfig, with its client certificate. A client sends its token itself. */
async function upstreamOf(kubeconfigPath: string): Promise<Upstream> {
  const access = await loadClusterAccess({ kubeconfigPath });
  const agent = new https.Agent({ keepAlive: true, timeout: IDLE_MS, ...(await access.tls()) });
  return { server: access.server, agent };
}

/**
 * Starts the proxy, on the loopback interface.
 * @param options folder: where the kubeconfigs are written
 */
export async function startKubernetesProxy({ folder }: { folder: string }): Promise<KubernetesProxy> {
  return new FaultyKubernetes(folder);
}
