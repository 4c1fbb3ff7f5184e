/** A browser: it keeps cookies, and sends the Origin of the page that it shows. */
import type { FastifyInstance, InjectOptions } from 'fastify';
import type { TestProvider } from './identity-provider.ts';

export interface BrowserAnswer {
  readonly status: number;
  readonly headers: Record<string, unknown>;
  /** The Set-Cookie headers. */
  readonly cookies: readonly string[];
  // biome-ignore lint/suspicious/noExplicitAny: JSON of any route.
  readonly body: any;
  readonly text: string;
}

interface Sent {
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  /** Default: the browser's own API. */
  readonly api?: FastifyInstance;
}

export class Browser {
  readonly jar = new Map<string, string>();
  readonly #api: FastifyInstance;
  readonly #origin: string;

  constructor(api: FastifyInstance, origin: string) {
    this.#api = api;
    this.#origin = origin;
  }

  get cookie(): string {
    return [...this.jar].map(([name, value]) => `${name}=${value}`).join('; ');
  }

  async call(
    method: NonNullable<InjectOptions['method']>,
    url: string,
    sent: Sent = {},
  ): Promise<BrowserAnswer> {
    const { body, headers = {}, api = this.#api } = sent;
    const response = await api.inject({
      method,
      url,
      headers: {
        ...(this.jar.size === 0 ? {} : { cookie: this.cookie }),
        ...(method === 'GET' ? {} : { origin: this.#origin }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
    });
    const cookies = [response.headers['set-cookie'] ?? []].flat();
    for (const line of cookies) this.#keep(line);
    const text = response.payload;
    const isJson = String(response.headers['content-type']).includes('json');
    return {
      status: response.statusCode,
      headers: response.headers,
      cookies,
      body: isJson && text !== '' ? JSON.parse(text) : null,
      text,
    };
  }

  #keep(line: string): void {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
    if (/;\s*(?:max-age=0|expires=thu, 01 jan 1970)/i.test(line)) this.jar.delete(name);
    else this.jar.set(name, value);
  }

  /** Goes to the identity provider and back, up to the request with which the browser returns. */
  async toCallback(provider: TestProvider, returnTo = ''): Promise<string> {
    const start = await this.call('GET', `/v2/auth/sign-in${returnTo}`);
    if (start.status !== 303) throw new Error(`failed to start the sign-in: ${start.status} ${start.text}`);
    const { search } = await provider.signIn(String(start.headers['location']));
    return `/v2/auth/callback${search}`;
  }

  async signIn(provider: TestProvider, returnTo = ''): Promise<BrowserAnswer> {
    return this.call('GET', await this.toCallback(provider, returnTo));
  }
}
