/** The entries of the policy as rows, so that a new entry appears without a change of the console. */

export interface PolicyRow {
  /** Such as `caps.scale`, as in docs/policy.md. */
  readonly entry: string;
  readonly value: string;
}

function textOf(value: unknown): string {
  if (value === null) return 'no limit';
  if (Array.isArray(value)) {
    if (value.length === 0) return 'none';
    const isPlain = value.every((each) => typeof each !== 'object');
    return isPlain ? value.join(', ') : JSON.stringify(value, null, 2);
  }
  return typeof value === 'number' ? value.toLocaleString('en') : String(value);
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** All entries in the order of the policy. An empty object is one row. */
export function policyRows(policy: object, prefix = ''): PolicyRow[] {
  return Object.entries(policy).flatMap(([name, value]) => {
    const entry = `${prefix}${name}`;
    if (!isObject(value)) return [{ entry, value: textOf(value) }];
    const rows = policyRows(value, `${entry}.`);
    return rows.length === 0 ? [{ entry, value: 'none' }] : rows;
  });
}
