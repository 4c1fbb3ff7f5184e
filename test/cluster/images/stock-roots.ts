/** Images of other projects that tests run as they are: nginx, and BuildKit. */
import { copyFileSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { ImageConfig } from './oci-layout.ts';
import { addUser, write } from './root-files.ts';

const NGINX_CONF = `user nginx;
worker_processes auto;
error_log /var/log/nginx/error.log notice;
pid /run/nginx.pid;
events { worker_connections 1024; }
http {
  include /etc/nginx/mime.types;
  default_type application/octet-stream;
  access_log /var/log/nginx/access.log;
  include /etc/nginx/conf.d/*.conf;
}`;

const NGINX_SITE = `server {
  listen 80;
  server_name localhost;
  location / {
    root /usr/share/nginx/html;
    index index.html index.htm;
  }
}`;

/**
 * Debian's nginx with the properties of the official image on which it depends whether it runs: its master process is root,
 * gives folders to the user `nginx`, and starts workers as this user. It listens on port 80, and logs to its output.
 */
export function addNginx(root: string, environment: readonly string[]): ImageConfig {
  addUser(root, 'nginx', 101);
  rmSync(join(root, 'etc/nginx/modules-enabled'), { recursive: true, force: true });
  write(root, 'etc/nginx/nginx.conf', [NGINX_CONF]);
  write(root, 'etc/nginx/conf.d/default.conf', [NGINX_SITE]);
  for (const folder of ['run', 'var/lib/nginx', 'var/log/nginx'])
    mkdirSync(join(root, folder), { recursive: true });
  for (const [log, stream] of Object.entries({ access: 'stdout', error: 'stderr' }))
    symlinkSync(`/dev/${stream}`, join(root, `var/log/nginx/${log}.log`));
  return {
    Env: environment,
    Cmd: ['nginx', '-g', 'daemon off;'],
    ExposedPorts: { '80/tcp': {} },
    StopSignal: 'SIGQUIT',
  };
}

/** The programs of BuildKit that its image contains. */
export const BUILDKIT_TOOLS = ['buildkitd', 'buildctl'] as const;

/**
 * buildkitd and buildctl as in `moby/buildkit`, for a daemon in a privileged pod. docs/decisions/0114 says why not rootless.
 * @param programs paths of BUILDKIT_TOOLS
 */
export function addBuildkit(
  root: string,
  environment: readonly string[],
  programs: readonly string[],
): ImageConfig {
  for (const program of programs) copyFileSync(program, join(root, 'usr/bin', basename(program)));
  return { Env: environment, Entrypoint: ['buildkitd'] };
}
