import { describe, expect, test } from 'vitest';
import { detectApplication } from '../../../../src/cluster/builder/detect.ts';
import { workflowConfigSchema } from '../../../../src/cluster/builder/workflow-config.ts';

type Files = Readonly<Record<string, string>>;

function detected(files: Files) {
  const found = detectApplication({ names: Object.keys(files), read: (name) => files[name] ?? null });
  // What is detected is a valid configuration.
  expect(workflowConfigSchema.parse(found.config)).toEqual(found.config);
  return found;
}

const json = JSON.stringify;

describe('a folder with a package.json', () => {
  test('is Node with its start script when it has one', () => {
    expect(detected({ 'package.json': json({ scripts: { start: 'node a.js' }, main: 'b.js' }) })).toEqual({
      config: { language: 'node', version: '24', command: ['npm', 'start'] },
      from: 'package.json',
    });
  });

  test('is Node with main when it has no start script', () => {
    const { config } = detected({ 'package.json': json({ main: './lib/server.js' }) });
    expect(config).toEqual({ language: 'node', version: '24', entrypoint: 'lib/server.js' });
  });

  test.each([
    ['neither a start script nor main', {}],
    ['a start script', { scripts: { start: 'node a.js' } }],
    ['a main that may not exist', { main: 'index.js' }],
  ])('is Node with the process web of its Procfile when it has %s', (_what, content) => {
    const files = { 'package.json': json(content), Procfile: 'web: node server.js --port $PORT\n' };
    expect(detected(files)).toEqual({
      config: { language: 'node', version: '24', command: ['/bin/sh', '-c', 'node server.js --port $PORT'] },
      from: 'Procfile',
    });
  });

  test.each([
    ['22', '22'],
    ['22.x', '22'],
    ['^22.1.0', '22'],
    ['v20.11.1', '20'],
    ['>=18', '24'],
    ['18 || 20', '24'],
    [5, '24'],
  ])('takes the version from engines.node when it is %j', (node, version) => {
    const files = { 'package.json': json({ main: 'a.js', engines: { node } }) };
    expect(detected(files).config.version).toBe(version);
  });

  test.each([
    ['{', 'is not a JSON object'],
    ['[]', 'is not a JSON object'],
    ['{}', 'neither a start script nor main'],
    [json({ scripts: { start: ' ' } }), 'neither a start script nor main'],
    [json({ main: '../up.js' }), 'main must be a path in the folder'],
    [json({ main: '-e' }), 'main must be a path in the folder'],
  ])('is rejected when it is %s', (text, message) => {
    expect(() => detected({ 'package.json': text })).toThrow(
      expect.objectContaining({
        reason: 'BuildConfigInvalid',
        message: expect.stringContaining(message),
      }),
    );
  });
});

describe('a folder with a requirements.txt or a pyproject.toml', () => {
  test.each(['requirements.txt', 'pyproject.toml'])('is Python with the process web for %s', (name) => {
    expect(detected({ [name]: '', Procfile: 'web: gunicorn app:app\nworker: python w.py\n' })).toEqual({
      config: { language: 'python', version: '3.13', command: ['/bin/sh', '-c', 'gunicorn app:app'] },
      from: 'Procfile',
    });
  });

  test('takes the version from .python-version when it is a version', () => {
    const files = { 'requirements.txt': '', Procfile: 'web: a' };
    expect(detected({ ...files, '.python-version': '3.12.4\n' }).config.version).toBe('3.12.4');
    expect(detected({ ...files, '.python-version': 'pypy3.10' }).config.version).toBe('3.13');
  });

  test('is rejected with the line to add when no Procfile has the process web', () => {
    expect(() => detected({ 'requirements.txt': '', Procfile: 'worker: a' })).toThrow(
      'add the line "web: COMMAND" to Procfile',
    );
  });
});

test('a folder is rejected when it may be both languages, or neither', () => {
  expect(() => detected({ 'package.json': '{}', 'requirements.txt': '' })).toThrow(
    'Node (package.json) or Python',
  );
  expect(() => detected({ 'main.go': '' })).toThrow('the folder has no Dockerfile, no berth.yaml');
});
