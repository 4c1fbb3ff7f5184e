/** The table of fields that a cluster can refuse. */
import { expect, test } from 'vitest';
import { REMEDIES } from '../../../../src/domain/conditions/remedies.ts';
import { FIELD_RECOVERIES } from '../../../../src/domain/deployment/field-recovery.ts';
import { POD_SETTINGS } from '../../../../src/domain/pod-settings/pod-settings.ts';
import { resourceSpecSchema } from '../../../../src/domain/resource-spec/resource-spec.ts';

test('the table has one row for every field of resource_spec', () => {
  const rows = FIELD_RECOVERIES.flatMap(({ fields }) => fields);
  for (const field of Object.keys(resourceSpecSchema.shape))
    expect(
      rows.filter((named) => named === field),
      field,
    ).toHaveLength(1);
  for (const field of POD_SETTINGS) expect(rows).toContain(`source_config.${field}`);
  expect(new Set(rows).size).toBe(rows.length);
});

test('every reason that is reported has a remedy', () => {
  for (const { reasons } of FIELD_RECOVERIES)
    for (const reason of reasons) expect(REMEDIES[reason], reason).toHaveProperty('text');
});
