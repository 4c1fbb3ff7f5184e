import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import { ConfigError } from '../../config/index.ts';

/** Files with values of the Helm chart, in the format of `helm get values`. */

const fileSchema = z.looseObject({
  policy: z.string().nullish(),
  rbac: z
    .looseObject({
      admissionPolicy: z.boolean().nullish(),
      listenerNamespaces: z.array(z.string()).nullish(),
    })
    .nullish(),
});

/** Values that are not settings of Berth. undefined: not in the files. */
export interface ChartValues {
  /** Text of the policy file. */
  readonly policy: string | undefined;
  /** The chart limits the writes of the listener by an admission policy. */
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
 * The merged values of the files. As in Helm, later files win, and missing values have the default of the chart.
 * @throws ConfigError when a file cannot be read, or a value has the wrong type
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
