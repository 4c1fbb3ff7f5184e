/** kube-score finds nothing in the chart and in the objects of the samples, except what a file accepts with a reason. */
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { profiles, renderedFile } from '../../../scripts/manifests.ts';
import { FIRST_TIME_MS } from '../../cluster/images/tools.ts';
import { resolveKubeScore } from '../../cluster/kube-score.ts';
import { CLOUD, type RequestBody, render, SELF_HOSTED } from '../../unit/workloads/render-request.ts';

const EXCEPTIONS = fileURLToPath(new URL('../../cluster/kube-score/exceptions.yaml', import.meta.url));
const SAMPLES = fileURLToPath(new URL('../../samples/', import.meta.url));

interface Exception {
  of: 'chart' | 'samples';
  check: string;
  where: string;
  says?: string;
  reason: string;
}

interface Finding {
  of: Exception['of'];
  check: string;
  where: string;
  says: string;
}

/** The fields of the JSON output that the test reads. */
interface ScoredObject {
  type_meta: { kind: string };
  object_meta: { name: string };
  checks: {
    check: { id: string };
    grade: number;
    skipped: boolean;
    comments: { path: string; summary: string; description: string }[] | null;
  }[];
}

/** Grade of a check that found nothing. */
const OK = 10;

const exceptions = parse(readFileSync(EXCEPTIONS, 'utf8')) as Exception[];
let program: string;
beforeAll(async () => {
  program = await resolveKubeScore();
}, FIRST_TIME_MS);

/** kube-score ends with exit code 1 if it has findings. */
function scored(file: string): Promise<ScoredObject[]> {
  const args = ['score', '--output-format', 'json', '--kubernetes-version', 'v1.36', file];
  return new Promise((resolve, reject) => {
    execFile(program, args, { maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
      if (stdout === '') reject(new Error(`failed to run kube-score: ${stderr || String(error)}`));
      else resolve(JSON.parse(stdout) as ScoredObject[]);
    });
  });
}

async function findingsIn(of: Finding['of'], file: string): Promise<Finding[]> {
  const objects = await scored(file);
  expect(objects.length).toBeGreaterThan(0);
  return objects.flatMap(({ type_meta, object_meta, checks }) =>
    checks
      .filter(({ grade, skipped }) => !skipped && grade < OK)
      .flatMap(({ check, comments }) =>
        (comments ?? [{ path: '', summary: '', description: '' }]).map(({ path, summary, description }) => ({
          of,
          check: check.id,
          where: `${type_meta.kind}/${object_meta.name}${path === '' ? '' : ` ${path}`}`,
          says: summary || description,
        })),
      ),
  );
}

const accepts = (exception: Exception, { of, check, where, says }: Finding) =>
  exception.of === of &&
  new RegExp(`^(${exception.check})$`).test(check) &&
  new RegExp(exception.where).test(where) &&
  new RegExp(exception.says ?? '').test(says);

/** The objects of a sample as the operator applies them, in a file. */
function sampleFile(folder: string, name: string, config: typeof SELF_HOSTED): string {
  const body = JSON.parse(readFileSync(join(SAMPLES, name), 'utf8')) as RequestBody;
  const objects = render(body, config).objects.map(({ object, replicas }) =>
    replicas?.kind === 'fixed'
      ? { ...object, spec: { ...(object.spec as object), replicas: replicas.count } }
      : object,
  );
  const file = join(folder, `${config.hosting}-${name}`);
  writeFileSync(file, objects.map((object) => JSON.stringify(object)).join('\n---\n'));
  return file;
}

it('accepts the chart in every profile and the objects of every sample, except for the listed exceptions', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-kube-score-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const samples = readdirSync(SAMPLES).filter((name) => name.endsWith('.json'));
  const files = samples.flatMap((name) => {
    const isInternal = readFileSync(join(SAMPLES, name), 'utf8').includes('"internal_image"');
    const configs = isInternal ? [SELF_HOSTED, CLOUD] : [SELF_HOSTED];
    return configs.map((config) => sampleFile(folder, name, config));
  });
  const findings: Finding[] = [];
  for (const profile of profiles()) findings.push(...(await findingsIn('chart', renderedFile(profile))));
  for (const file of files) findings.push(...(await findingsIn('samples', file)));
  const open = findings.filter((finding) => !exceptions.some((exception) => accepts(exception, finding)));
  expect(open, EXCEPTIONS).toEqual([]);
  const unused = exceptions.filter((exception) => !findings.some((finding) => accepts(exception, finding)));
  expect(unused, `exceptions without a finding in ${EXCEPTIONS}`).toEqual([]);
  for (const { reason } of exceptions) expect(reason).toMatch(/\w.{20,}\.$/);
}, 120_000);
