import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import { ConfigError } from '../config/index.ts';

/** Files with values of the Helm chart, as `helm get values` prints them. */

const fileSchema = z.looseObject({
  policy: z.string().nullish(),
  rbac: z
    .looseObject({
      admissionPolicy: z.boolean().nullish(),
      listenerNamespaces: z.array(z.string()).nullish(),
    })
    .nullish(),
});

/** What the files say that no setting of Berth has; undefined: nothing. */
export interface ChartValues {
  /** Text of the policy file. */
  readonly policy: string | undefined;
  /** The chart bounds what the listener writes. */
  readonly admissionPolicy: boolean;
  /** Namespaces besides those of tenants that the listener may write to. */
  readonly listenerNamespaces: readonly string[];
}

function readValues(path: string): z.infer<typeof fileSchema> {
  let content: unknown;
  try {
    content = parse(readFileSync(path, 'utf8')) ?? {};
  } catch (error) {
    throw new ConfigError([`--values: ${path} cannot be read: ${String(error)}`]);
  }
  const parsed = fileSchema.safeParse(content);
  if (parsed.success) return parsed.data;
  throw new ConfigError(
    parsed.error.issues.map((issue) => `--values: ${path}: ${issue.path.join('.')}: ${issue.message}`),
  );
}

/**
 * The values of these files, of which a later one wins, as with Helm. What none of them has is as the chart has it.
 * @throws ConfigError when one cannot be read, or a value of it has the wrong type
 */
export function loadChartValues(paths: readonly string[]): ChartValues {
  const files = paths.map(readValues);
  const policy = files.findLast((file) => file.policy != null)?.policy;
  return {
    policy: policy == null || policy === '' ? undefined : policy,
    admissionPolicy:
      files.findLast((file) => file.rbac?.admissionPolicy != null)?.rbac?.admissionPolicy ?? true,
    listenerNamespaces:
      files.findLast((file) => file.rbac?.listenerNamespaces != null)?.rbac?.listenerNamespaces ?? [],
  };
}
