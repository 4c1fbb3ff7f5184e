import type { FormEvent } from 'react';
import { LOGGED_COMPONENTS } from '../api/components.ts';
import type { Revision } from '../api/types.ts';
import { shortId } from '../deployment/status.ts';
import { ChoiceField, type Choices, sameLabels } from '../ui/fields/choice-field.tsx';
import { ChoiceFilter, TextFilter } from '../ui/fields/filter-fields.tsx';
import { type LogFilterName, type LogFilters, logFiltersOf } from './log-filters.ts';
import styles from './logs.module.css';

interface LogFilterBarProps {
  readonly filters: LogFilters;
  readonly onChange: (filters: LogFilters) => void;
  /** Whether values of secrets are shown as they were printed. null: the session may not see them. */
  readonly unmasked: boolean | null;
  readonly onUnmask: (unmasked: boolean) => void;
  /** The revisions that can be chosen. */
  readonly revisions: readonly Revision[];
  /** The containers that have printed lines. */
  readonly containers: readonly string[];
}

const SOURCES: Choices = [
  ['', 'Pods'],
  ['build', 'Build'],
];
const RUNS: Choices = [
  ['', 'Present'],
  ['true', 'Previous, of restarted containers'],
];
const MASKS: Choices = [
  ['', 'Masked'],
  ['true', 'As printed'],
];

/** The choices, with the chosen value even if the list does not have it. */
const withValue = (choices: Choices, value: string | undefined, label = value): Choices =>
  value === undefined || choices.some(([each]) => each === value)
    ? choices
    : [...choices, [value, label ?? value]];

/** A revision that is not in the list. */
const revisionText = (id = '') => `Revision …${shortId(id)}`;

/** The filters of the log. They are kept in the URL. */
export function LogFilterBar(props: LogFilterBarProps) {
  const { filters, onChange, unmasked, onUnmask, revisions, containers } = props;
  const isBuild = filters.source === 'build';
  const field = (name: LogFilterName) => ({
    value: filters[name] ?? '',
    onChange: (value: string) => onChange(logFiltersOf({ ...filters, [name]: value })),
  });
  const numbered: Choices = revisions.map(({ id, number }) => [id, `Revision ${number}`]);
  const revisionChoices = withValue(numbered, filters.revision, revisionText(filters.revision));
  return (
    <search>
      <form className={styles['filters']} onSubmit={(event: FormEvent) => event.preventDefault()}>
        <ChoiceField label="Source" choices={SOURCES} {...field('source')} />
        {isBuild ? (
          <ChoiceField label="Revision" choices={revisionChoices} {...field('revision')} />
        ) : (
          <>
            <ChoiceFilter label="Component" choices={sameLabels(LOGGED_COMPONENTS)} {...field('component')} />
            <ChoiceFilter label="Revision" choices={revisionChoices} {...field('revision')} />
            <ChoiceFilter
              label="Container"
              choices={withValue(sameLabels(containers), filters.container)}
              {...field('container')}
            />
            <ChoiceField label="Run" choices={RUNS} {...field('previous')} />
            {unmasked !== null && (
              <ChoiceField
                label="Values of secrets"
                choices={MASKS}
                value={unmasked ? 'true' : ''}
                onChange={(value) => onUnmask(value === 'true')}
              />
            )}
          </>
        )}
        <TextFilter label="Contains" type="search" {...field('q')} />
      </form>
    </search>
  );
}
