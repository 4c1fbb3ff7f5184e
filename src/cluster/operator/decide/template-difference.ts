import type { V1PodTemplateSpec } from '@kubernetes/client-node';
import { LABELS } from '../../../contract/resource/names.ts';
import { TEMPLATE_HASH_LABEL } from '../../../workloads/labels.ts';

/** One field that differs. `from` or `to` is absent if the field does not exist on that side. */
export interface FieldChange {
  /**
   * For example `spec.containers[app].env[PORT].value`. Members of lists are identified by name, if they have names.
   */
  readonly path: string;
  readonly from?: unknown;
  readonly to?: unknown;
}

/** Labels that identify a template. Berth derives these labels from the other fields, so they are not compared. */
const MARKS: readonly string[] = [TEMPLATE_HASH_LABEL, LABELS.version];

/** Fields in which two pod templates differ, in the order of their paths. */
export function templateDifference(
  from: V1PodTemplateSpec | undefined,
  to: V1PodTemplateSpec | undefined,
): FieldChange[] {
  const changes: FieldChange[] = [];
  compare(withoutMarks(from), withoutMarks(to), '', changes);
  return changes.sort((a, b) => (a.path < b.path ? -1 : 1));
}

function withoutMarks(template: V1PodTemplateSpec | undefined): unknown {
  if (template === undefined) return undefined;
  const labels = Object.entries(template.metadata?.labels ?? {}).filter(([name]) => !MARKS.includes(name));
  return { ...template, metadata: { ...template.metadata, labels: Object.fromEntries(labels) } };
}

function compare(from: unknown, to: unknown, path: string, changes: FieldChange[]): void {
  const [before, after] = [membersOf(from), membersOf(to)];
  if (before === null || after === null) {
    if (JSON.stringify(from) === JSON.stringify(to)) return;
    changes.push({
      path,
      ...(from === undefined ? {} : { from }),
      ...(to === undefined ? {} : { to }),
    });
    return;
  }
  for (const key of new Set([...before.keys(), ...after.keys()])) {
    const below = key.startsWith('[') ? `${path}${key}` : `${path}${path === '' ? '' : '.'}${key}`;
    compare(before.get(key), after.get(key), below, changes);
  }
}

/** Members of an object or list by path segment; null for other values. */
function membersOf(value: unknown): Map<string, unknown> | null {
  if (typeof value !== 'object' || value === null) return null;
  if (!Array.isArray(value)) return new Map(Object.entries(value));
  const names = value.map((member) => (member as { name?: unknown } | null)?.name);
  const named = names.every((name) => typeof name === 'string') && new Set(names).size === names.length;
  return new Map(value.map((member, index) => [`[${named ? names[index] : index}]`, member]));
}
