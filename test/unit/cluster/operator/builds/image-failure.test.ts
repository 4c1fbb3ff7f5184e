import { describe, expect, test } from 'vitest';
import { imageFailureReason } from '../../../../../src/cluster/operator/builds/image-failure.ts';

const SOLVE = 'error: failed to solve: ';
const PUSH = `${SOLVE}failed to push registry.example/t/shop-503: `;
const HEAD = 'failed to do request: Head "https://registry.example/v2/": ';
const PULL = `${SOLVE}node:24: failed to resolve source metadata for docker.io/library/node:24: `;

describe('the last error of BuildKit', () => {
  test.each([
    'error: failed to receive status: rpc error: code = Unavailable desc = error reading from server: EOF',
    `${SOLVE}Unavailable: closing transport due to: connection error: desc = "error reading from server: EOF", received prior goaway`,
    `${SOLVE}rpc error: code = Unavailable desc = error reading from server: EOF`,
    'error: listing workers for Build: failed to list workers: Unavailable: connection error: desc = "transport: Error while dialing: dial unix /run/user/1000/buildkit/buildkitd.sock: connect: no such file or directory"',
    // As buildctl-daemonless.sh ends: not with an error of buildctl.
    `could not connect to unix:///run/user/1000/buildkit/buildkitd.sock after 10 trials
========== log ==========
[rootlesskit:parent] error: failed to start the child: fork/exec /proc/self/exe: operation not permitted`,
    // Of a long log the end alone is there.
    '[rootlesskit:parent] error: failed to setup UID/GID map: newuidmap failed: operation not permitted',
  ])('means BuildLost when the daemon is gone: %s', (line) => {
    expect(imageFailureReason(`#9 RUN npm ci\n${line}`)).toBe('BuildLost');
  });

  test.each([
    `${PUSH}${HEAD}dial tcp 10.0.0.1:443: connect: no route to host`,
    `${PUSH}${HEAD}dial tcp: lookup registry.example on 10.0.0.10:53: server misbehaving`,
    `${PUSH}${HEAD}dial tcp: lookup registry.example on 10.0.0.10:53: no such host`,
    `${PUSH}failed to do request: Put "https://registry.example/v2/": EOF`,
    `${PUSH}failed to do request: Put "https://registry.example/v2/": write tcp 10.0.0.2:4->10.0.0.1:443: write: broken pipe`,
    `${PUSH}${HEAD}net/http: request canceled (Client.Timeout exceeded while awaiting headers)`,
    `${PUSH}unexpected status from PUT request to https://registry.example/v2/x: 429 Too Many Requests`,
    `${PUSH}failed to authorize: failed to fetch oauth token: unexpected status from GET request to https://hub.example/v2/registry/token: 503 Service Unavailable`,
    `${PUSH}failed to authorize: failed to fetch oauth token: Post "https://hub.example/v2/registry/token": EOF`,
    `${SOLVE}error writing layer blob: failed to copy: failed to do request: Put "http://127.0.0.1:5000/v2/x": dial tcp 127.0.0.1:5000: connect: connection refused`,
    'error: failed to push r/x: unexpected status: 503 Service Unavailable',
    `${PUSH}unexpected status from PUT request to https://registry.example/v2/x: 400 Bad Request: provided digest did not match uploaded content`,
    `${PUSH}errors:\nunknown: provided digest did not match uploaded content\nunknown: blob unknown to registry - sha256:e1eb1d8a`,
    `${PULL}unexpected status from HEAD request to https://registry-1.docker.io/v2/library/node/manifests/24: 503 Service Unavailable`,
    `${PULL}failed to authorize: failed to fetch anonymous token: Get "https://auth.docker.io/token": net/http: TLS handshake timeout`,
    `${PULL}unexpected status code https://registry-1.docker.io/v2/library/node/manifests/24: 429 Too Many Requests - Server message: toomanyrequests`,
    `${SOLVE}failed to compute cache key: failed to copy: httpReadSeeker: failed open: unexpected status code https://registry-1.docker.io/v2/x: 502 Bad Gateway`,
  ])('means RegistryUnavailable when a registry does not respond: %s', (line) => {
    expect(imageFailureReason(line)).toBe('RegistryUnavailable');
  });

  test.each([
    `${PUSH}unexpected status from POST request to https://registry.example/v2/t/shop-503/blobs/uploads/: 403 Forbidden`,
    `${PUSH}server message: insufficient_scope: authorization failed`,
    `${PUSH}errors:\ndenied: requested access to the resource is denied\nunauthorized: authentication required`,
  ])('means RegistryRefused when the push is rejected: %s', (line) => {
    expect(imageFailureReason(line)).toBe('RegistryRefused');
  });

  test.each([
    `${SOLVE}process "/bin/sh -c echo failed to push 503; exit 1" did not complete successfully: exit code: 1`,
    `${SOLVE}process "/bin/sh -c echo \\"failed to push \\": 503 EOF" did not complete successfully: exit code: 1`,
    `${SOLVE}process "/bin/sh -c echo rpc error: code = Unavailable" did not complete successfully: exit code: 1`,
    `${SOLVE}failed to compute cache key: failed to calculate checksum of ref x: "/failed to copy: EOF": not found`,
    `${PULL}docker.io/library/node:24: not found`,
    `${SOLVE}none.example/x: failed to resolve source metadata for none.example/x:latest: ${HEAD}dial tcp: lookup none.example: no such host`,
    `${PULL}pull access denied, repository does not exist or may require authorization: server message: insufficient_scope: authorization failed`,
    `#9 1.2 could not connect to tcp://x after 10 trials\n${SOLVE}process "/bin/sh -c ./start" did not complete successfully: exit code: 1`,
    `${SOLVE}dockerfile parse error on line 503: unknown instruction: EOF`,
    '',
  ])('means BuildFailed when the Dockerfile is wrong: %s', (line) => {
    expect(imageFailureReason(line)).toBe('BuildFailed');
  });
});
