import { useNavigate } from '@tanstack/react-router';
import type { FormEvent } from 'react';
import { useTenantApi } from '../shell/tenant-context.ts';
import { Button } from '../ui/button.tsx';
import { sameLabels } from '../ui/fields/choice-field.tsx';
import { ChoiceFilter, TextFilter } from '../ui/fields/filter-fields.tsx';
import { type FilterName, type Filters, filtersOf, isFiltered, STATUSES, TYPES } from './filters.ts';
import styles from './fleet.module.css';

const RECONCILED = [
  ['true', 'Yes'],
  ['false', 'Not yet'],
] as const;

/** All filters of the list API. They are kept in the URL. */
export function FilterBar({ filters }: { readonly filters: Filters }) {
  const navigate = useNavigate();
  const { tenantId } = useTenantApi();
  const go = (search: Filters) =>
    void navigate({ to: '/t/$tenantId/deployments', params: { tenantId }, search, replace: true });
  const field = (name: FilterName) => ({
    value: filters[name] ?? '',
    onChange: (value: string) => go(filtersOf({ ...filters, [name]: value })),
  });
  const hasMore = ['name', 'image_version', 'tag_value_ids', 'deployment_ids'].some(
    (name) => name in filters,
  );
  return (
    <search>
      <form className={styles['filters']} onSubmit={(event: FormEvent) => event.preventDefault()}>
        <TextFilter label="Name contains" type="search" {...field('name_contains')} />
        <ChoiceFilter label="Status" choices={sameLabels(STATUSES)} {...field('status')} />
        <ChoiceFilter label="Type" choices={sameLabels(TYPES)} {...field('deployment_type')} />
        <ChoiceFilter label="Observed" choices={RECONCILED} {...field('remote_reconciled')} />
        <details className={styles['more']} open={hasMore}>
          <summary>More filters</summary>
          <div className={styles['filters']}>
            <TextFilter label="Exact name" {...field('name')} />
            <TextFilter label="Image version" {...field('image_version')} />
            <TextFilter label="Ids of tag values, separated by commas" {...field('tag_value_ids')} />
            <TextFilter label="Ids of deployments, separated by commas" {...field('deployment_ids')} />
          </div>
        </details>
        {isFiltered(filters) && <Button onClick={() => go({})}>Clear filters</Button>}
      </form>
    </search>
  );
}
