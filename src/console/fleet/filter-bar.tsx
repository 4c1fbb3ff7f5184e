import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useEffect, useId, useRef, useState } from 'react';
import { useTenantApi } from '../shell/tenant-context.ts';
import { Button } from '../ui/button.tsx';
import { type FilterName, type Filters, filtersOf, isFiltered, STATUSES, TYPES } from './filters.ts';
import styles from './fleet.module.css';

interface FieldProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

const TYPING_MS = 300;

/** A text that filters a moment after the last key. */
function TextFilter({
  label,
  value,
  onChange,
  type = 'text',
}: FieldProps & { readonly type?: 'text' | 'search' }) {
  const id = useId();
  const [text, setText] = useState(value);
  const sent = useRef(value);
  useEffect(() => {
    // The URL has changed by other means, such as the back button.
    if (value !== sent.current) {
      sent.current = value;
      setText(value);
    }
  }, [value]);
  useEffect(() => {
    if (text === sent.current) return;
    const timer = setTimeout(() => {
      sent.current = text;
      onChange(text);
    }, TYPING_MS);
    return () => clearTimeout(timer);
  }, [text, onChange]);
  return (
    <div className={styles['field']}>
      <label htmlFor={id}>{label}</label>
      <input id={id} type={type} value={text} onChange={({ target }) => setText(target.value)} />
    </div>
  );
}

function ChoiceFilter({
  label,
  value,
  onChange,
  choices,
}: FieldProps & { readonly choices: readonly (readonly [value: string, label: string])[] }) {
  const id = useId();
  return (
    <div className={styles['field']}>
      <label htmlFor={id}>{label}</label>
      <select id={id} value={value} onChange={({ target }) => onChange(target.value)}>
        <option value="">All</option>
        {choices.map(([each, text]) => (
          <option key={each} value={each}>
            {text}
          </option>
        ))}
      </select>
    </div>
  );
}

const same = (values: readonly string[]) => values.map((value) => [value, value] as const);
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
        <ChoiceFilter label="Status" choices={same(STATUSES)} {...field('status')} />
        <ChoiceFilter label="Type" choices={same(TYPES)} {...field('deployment_type')} />
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
