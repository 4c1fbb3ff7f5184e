import { UsageError } from '../../command/usage-error.ts';
import type { FieldChange, RevisionDryRun } from '../api.gen.ts';
import { isObject } from '../body-file.ts';
import { type Context, show } from '../context.ts';
import { cell, table } from '../table.ts';
import type { WaitOptions } from '../wait.ts';

/** The preview of a rollback or redeploy. Nothing is stored. */

export interface DryRunOptions {
  readonly dryRun: boolean;
}

/** @throws UsageError */
export function checkDryRun({ dryRun, wait, timeout }: DryRunOptions & WaitOptions): void {
  if (dryRun && (wait || timeout !== undefined))
    throw new UsageError('--dry-run changes nothing, so it cannot be combined with --wait or --timeout');
}

const valueText = (value: FieldChange['before']): string => {
  if (value === null || value === undefined) return 'not set';
  return cell(typeof value === 'string' ? value : JSON.stringify(value));
};

/** The effects as sentences, the most important first. */
function sentences({
  pods_roll: rolls,
  rolls: parts,
  new_revision: isNew,
  builds,
}: RevisionDryRun): string[] {
  return [
    rolls ? `Pods are replaced: ${parts.map(cell).join(', ')}.` : 'No pods are replaced.',
    ...(isNew ? ['A new revision is created.'] : []),
    ...(builds ? ['The image is built first.'] : []),
  ];
}

const changeTable = (changes: readonly FieldChange[]): string =>
  changes.length === 0
    ? 'The latest revision has the same content.'
    : table(
        ['FIELD', 'BEFORE', 'AFTER'],
        changes.map(({ field, before, after }) => [cell(field), valueText(before), valueText(after)]),
      );

function objectTable(manifests: RevisionDryRun['manifests']): string {
  if (manifests === null) return 'The objects are not known until the listener of the cluster has connected.';
  const rows = manifests.map(({ kind, metadata }) => [
    cell(kind),
    cell(isObject(metadata) ? String(metadata['name'] ?? '') : ''),
  ]);
  return table(['KIND', 'NAME'], rows);
}

/** Prints what the new revision would change. */
export async function showDryRun(context: Context, plan: RevisionDryRun): Promise<undefined> {
  const parts = () => [sentences(plan).join('\n'), changeTable(plan.changes), objectTable(plan.manifests)];
  await show(context, plan, {
    table: () => parts().join('\n\n'),
    names: () => plan.changes.map(({ field }) => field),
  });
}
