import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { dockerfileOf } from '../../../../src/cluster/builder/dockerfile.ts';
import { failureText } from '../../../../src/cluster/builder/step-failure.ts';
import { parseWorkflowConfig } from '../../../../src/cluster/builder/workflow-config.ts';
import { buildFailureSchema } from '../../../../src/contract/resource/build.ts';

const baseImages = { node: 'base/node:{version}', python: 'base/python:{version}-slim' };
const node = 'language: node\nversion: "24"\nentrypoint: server.js\n';

describe('the generated Dockerfile', () => {
  it('installs, builds and prunes in one stage, and runs as a numeric user in another', () => {
    const config = parseWorkflowConfig('berth.yaml', `${node}build: npm run build\n`);
    expect(dockerfileOf({ config, baseImages, files: ['package.json', 'package-lock.json'] })).toBe(
      `FROM base/node:24 AS build
WORKDIR /app
COPY . .
RUN ["/bin/sh","-ec","npm ci"]
RUN ["/bin/sh","-ec","npm run build"]
RUN ["/bin/sh","-ec","npm prune --omit=dev --no-audit --no-fund"]

FROM base/node:24
WORKDIR /app
ENV NODE_ENV=production PORT=8000
COPY --from=build /app /app
EXPOSE 8000
USER 10001:10001
CMD ["node","server.js"]
`,
    );
  });

  it('installs dependencies before it copies the sources when only the manifest is needed, for the layer cache', () => {
    const stepsOf = (language: 'node' | 'python', files: string[], manifest: string, more: object = {}) => {
      const config = parseWorkflowConfig('berth.yaml', node.replace('node', language));
      return dockerfileOf({ config, baseImages, files, manifest, ...more })
        .split('\n\n')[0]
        ?.split('\n')
        .filter((line) => /^COPY|npm|pip install/.test(line))
        .map((line) => line.replace(/.*"-ec","([^"]*)".*/, '$1'));
    };
    const lock = ['package.json', 'package-lock.json'];
    const npm = ['COPY package*.json npm-shrinkwrap.json* .npmrc* ./', 'npm ci', 'COPY . .'];
    expect(stepsOf('node', lock, '{"scripts": {"build": "x"}, "dependencies": {"a": "^1"}}')).toEqual([
      ...npm,
      'npm prune --omit=dev --no-audit --no-fund',
    ]);
    expect(stepsOf('python', ['requirements.txt'], 'flask==3\n')).toEqual([
      'COPY requirements.txt ./',
      'pip install --no-cache-dir -r requirements.txt',
      'COPY . .',
    ]);
    // In doubt, and for a custom command, the sources are copied first.
    expect(stepsOf('node', lock, '{"scripts": {"postinstall": "node x.js"}}')?.[0]).toBe('COPY . .');
    expect(stepsOf('python', ['pyproject.toml'], '')?.[0]).toBe('COPY . .');
    expect(stepsOf('node', lock, '{}', { installCommand: 'npm ci' })?.slice(0, 2)).toEqual([
      'COPY . .',
      'npm ci',
    ]);
  });

  it('checks after the build for an entrypoint that only the build can create, whatever its name', () => {
    const file = '$(id)"\'.js';
    const config = parseWorkflowConfig(
      'berth.json',
      JSON.stringify({ language: 'node', version: '24', entrypoint: file, build: 'make' }),
    );
    const input = { config, baseImages, files: [] };
    expect(dockerfileOf(input)).not.toContain('test -e');
    const lines = dockerfileOf({ ...input, makesEntrypoint: true }).split('\n');
    const at = lines.findIndex((line) => line.includes('test -e'));
    expect(lines[at - 1]).toBe('RUN ["/bin/sh","-ec","make"]');
    const [program = '', ...words] = JSON.parse((lines[at] ?? '').replace('RUN ', '')) as string[];
    const folder = mkdtempSync(join(tmpdir(), 'berth-entrypoint-'));
    try {
      const runTest = () => spawnSync(program, words, { cwd: folder, encoding: 'utf8' });
      expect(runTest()).toMatchObject({ status: 1, stderr: expect.stringContaining(file) as string });
      writeFileSync(join(folder, file), '');
      expect(runTest().status).toBe(0);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('installs Python dependencies in a virtual environment', () => {
    const config = parseWorkflowConfig(
      'berth.json',
      JSON.stringify({ language: 'python', version: '3.10', command: ['gunicorn', 'app:app'] }),
    );
    const text = dockerfileOf({ config, baseImages, files: ['requirements.txt'] });
    expect(text).toContain('FROM base/python:3.10-slim AS build');
    expect(text).toContain('pip install --no-cache-dir -r requirements.txt');
    expect(text).toContain('COPY --from=build /opt/venv /opt/venv');
    expect(text).toContain('CMD ["gunicorn","app:app"]');
  });

  it('replaces the commands of the configuration with install_command and build_command, as one argument each', () => {
    const config = parseWorkflowConfig('berth.yaml', `${node}install: a\nbuild: b\n`);
    const installCommand = 'echo "x" \\\nUSER root $HOME';
    const text = dockerfileOf({ config, baseImages, files: [], installCommand, buildCommand: 'make' });
    expect(text).toContain(`RUN ${JSON.stringify(['/bin/sh', '-ec', installCommand])}\n`);
    expect(text).toContain('RUN ["/bin/sh","-ec","make"]');
    expect(text.match(/^USER .*$/gm)).toEqual(['USER 10001:10001']);
    expect(text).not.toContain('prune');
  });
});

describe('the parser of the configuration', () => {
  it.each([
    ['language: cobol\nversion: "1"\nentrypoint: a', 'language:'],
    ['language: node\nversion: 3.10\nentrypoint: a', 'version: must be a version in quotes'],
    ['language: node\nversion: latest\nentrypoint: a', 'version: must be a version such as'],
    ['language: node\nversion: "24"', 'entrypoint: set either entrypoint (a file) or command'],
    ['language: node\nversion: "24"\nentrypoint: ../a', 'entrypoint: must be a path below'],
    ['language: node\nversion: "24"\nentrypoint: a\nports: 1', 'ports'],
    ['language: node\nlanguage: python', 'unique'],
    ['a: &x 1\nb: *x', 'must not contain aliases'],
    ['{', 'is invalid'],
    ['', 'is invalid'],
  ])('rejects %j and names file and field', (content, message) => {
    expect(() => parseWorkflowConfig('deploy/berth.yaml', content)).toThrowError(
      /^deploy\/berth.yaml is invalid: /,
    );
    expect(() => parseWorkflowConfig('deploy/berth.yaml', content)).toThrowError(message);
  });
});

describe('the message of a failed step', () => {
  it('fits into a termination message, whatever its content', () => {
    for (const message of ['x'.repeat(9000), '\u0000'.repeat(9000), '😀'.repeat(4000)]) {
      const text = failureText('BuildFailed', message);
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(4096);
      expect(buildFailureSchema.parse(JSON.parse(text)).message).toMatch(/^…/);
    }
  });
});
