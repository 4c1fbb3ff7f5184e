import { useNavigate } from '@tanstack/react-router';
import type { FormEvent } from 'react';
import { useTenantApi } from '../shell/tenant-context.ts';
import { Button } from '../ui/button.tsx';
import fields from '../ui/fields/fields.module.css';
import { TextFilter } from '../ui/fields/filter-fields.tsx';
import {
  type HistoryFilterName,
  type HistoryFilters,
  historyFiltersOf,
  localTimeOf,
  timeOfLocal,
} from './filters.ts';

/** The filters of the history. They are kept in the URL. */
export function HistoryFilterBar({ filters }: { readonly filters: HistoryFilters }) {
  const navigate = useNavigate();
  const { tenantId } = useTenantApi();
  const go = (search: HistoryFilters) =>
    void navigate({ to: '/t/$tenantId/history', params: { tenantId }, search, replace: true });
  const set = (name: HistoryFilterName) => (value: string) =>
    go(historyFiltersOf({ ...filters, [name]: value }));
  const text = (name: 'reason' | 'deployment_id') => ({ value: filters[name] ?? '', onChange: set(name) });
  const time = (name: 'since' | 'until') => ({
    type: 'datetime-local' as const,
    value: localTimeOf(filters[name] ?? ''),
    onChange: (value: string) => set(name)(timeOfLocal(value)),
  });
  return (
    <search>
      <form className={fields['row']} onSubmit={(event: FormEvent) => event.preventDefault()}>
        <TextFilter label="Reasons, separated by commas" {...text('reason')} />
        <TextFilter label="Since" {...time('since')} />
        <TextFilter label="Until" {...time('until')} />
        <TextFilter label="Id of a deployment" {...text('deployment_id')} />
        {Object.keys(filters).length > 0 && <Button onClick={() => go({})}>Clear filters</Button>}
      </form>
    </search>
  );
}
