import { useId } from 'react';
import form from '../form/form.module.css';
import type { JsonObject } from '../form/json.ts';
import { neededObjects } from './kinds.ts';

interface SampleChoiceProps {
  readonly samples: readonly JsonObject[];
  readonly document: JsonObject;
  readonly onChange: (document: JsonObject) => void;
}

/** Fills in a sample of the repository of Berth. */
export function SampleChoice({ samples, document, onChange }: SampleChoiceProps) {
  const id = useId();
  const chosen = samples.indexOf(document);
  const needed = neededObjects(document);
  return (
    <>
      <div className={form['field']}>
        <label htmlFor={id}>Sample</label>
        <select
          id={id}
          value={chosen === -1 ? '' : String(chosen)}
          onChange={({ target }) => {
            const sample = samples[Number(target.value)];
            if (target.value !== '' && sample !== undefined) onChange(sample);
          }}
        >
          {chosen === -1 && <option value="">Choose another …</option>}
          {samples.map((sample, index) => (
            <option key={String(sample['name'])} value={String(index)}>
              {String(sample['name'])}
            </option>
          ))}
        </select>
        <p className={form['help']}>Another choice replaces what is in the form.</p>
      </div>
      {needed.length > 0 && (
        <div>
          <p>
            It needs objects that Berth does not create. <code>test/samples/prerequisites.yaml</code> of the
            repository of Berth contains those of the samples:
          </p>
          <ul>
            {needed.map((each) => (
              <li key={each}>{each}</li>
            ))}
          </ul>
        </div>
      )}
    </>
  );
}
