/** A git host on loopback that speaks what Berth asks of the APIs of GitHub and GitLab, over real TLS. */
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { authority } from '../../unit/cluster/kube/self-signed.ts';

type Reply =
  | { readonly kind: 'repositories' }
  | { readonly kind: 'status'; readonly status: number; readonly headers?: Record<string, string> }
  | { readonly kind: 'text'; readonly text: string }
  /** Takes the request and says nothing. */
  | { readonly kind: 'silence' };

export interface GitServer {
  /** `https://127.0.0.1:port`. */
  readonly url: string;
  readonly port: number;
  /** PEM of the authority that vouches for it. */
  readonly ca: string;
  /** Path and query of each request, in their order. */
  readonly requests: string[];
  /** What it answers from now on. */
  reply: Reply;
  stop(): Promise<void>;
}

/** Text of the host, which no response of Berth may repeat. */
export const HOST_TEXT = 'text-of-the-git-host';

/** Repositories `team/app-000`, `team/app-001`, … in the form of the API that the path belongs to. */
function repository(index: number, gitlab: boolean): object {
  const name = `team/app-${String(index).padStart(3, '0')}`;
  const url = `https://git.example.com/${name}.git`;
  const branch = index === 0 ? null : 'main';
  return gitlab
    ? { path_with_namespace: name, http_url_to_repo: url, default_branch: branch, visibility: 'private' }
    : { full_name: name, clone_url: url, default_branch: branch, private: index % 2 === 1 };
}

/** @param options.token the one that it takes, as `Authorization: Bearer` */
export async function startGitServer(options: { token: string; count: number }): Promise<GitServer> {
  const root = authority();
  const { cert, key } = root.issue(['127.0.0.1', 'localhost']);
  const requests: string[] = [];
  const server = createServer({ cert, key }, (request, response) => {
    requests.push(request.url ?? '');
    const { reply } = git;
    if (reply.kind === 'silence') return;
    if (reply.kind === 'status') {
      response.writeHead(reply.status, reply.headers).end(JSON.stringify({ message: HOST_TEXT }));
      return;
    }
    if (reply.kind === 'text') {
      response.end(reply.text);
      return;
    }
    if (request.headers.authorization !== `Bearer ${options.token}`) {
      response.writeHead(401).end(JSON.stringify({ message: HOST_TEXT }));
      return;
    }
    const { pathname, searchParams } = new URL(request.url ?? '', 'https://127.0.0.1');
    const gitlab = pathname.endsWith('/api/v4/projects');
    if (!gitlab && !pathname.endsWith('/api/v3/user/repos')) {
      response.writeHead(404).end();
      return;
    }
    const [size, page] = [Number(searchParams.get('per_page')), Number(searchParams.get('page'))];
    const first = size * (page - 1);
    const length = Math.max(0, Math.min(size, options.count - first));
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(Array.from({ length }, (_, at) => repository(first + at, gitlab))));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const git: GitServer = {
    url: `https://127.0.0.1:${port}`,
    port,
    ca: root.cert,
    requests,
    reply: { kind: 'repositories' },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return git;
}
