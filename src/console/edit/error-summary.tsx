import { fieldId } from '../form/form-context.ts';
import { type Path, pathText } from '../form/json.ts';
import { Button } from '../ui/button.tsx';
import ui from '../ui/ui.module.css';
import type { PlacedError } from './draft.ts';

/** Opens the parts of the form that contain an element, because nothing in a closed part can have the focus. */
function openParents(element: Element): void {
  const part = element.parentElement?.closest('details') ?? null;
  if (part === null) return;
  part.open = true;
  openParents(part);
}

/** Moves the focus to the input of a field, or of the nearest field that contains it. */
function focusField(path: Path): void {
  for (let length = path.length; length > 0; length -= 1) {
    const element = document.getElementById(fieldId(path.slice(0, length)));
    if (element === null) continue;
    openParents(element);
    element.scrollIntoView({ block: 'center' });
    element.focus();
    return;
  }
}

/** All fields that the API rejected. They are also shown at the fields. */
export function ErrorSummary({ errors }: { readonly errors: readonly PlacedError[] }) {
  if (errors.length === 0) return null;
  return (
    <div role="alert" className={ui['problem']}>
      <p>{errors.length === 1 ? 'A field was rejected:' : `${errors.length} fields were rejected:`}</p>
      <ul>
        {errors.map(({ path, message, line }) => (
          <li key={`${pathText(path)} ${message}`}>
            {line !== null && `Line ${line}: `}
            <strong>
              <bdi>{pathText(path)}</bdi>
            </strong>{' '}
            <bdi>{message}</bdi>{' '}
            {line === null && (
              <Button onClick={() => focusField(path)}>
                Go to <bdi>{pathText(path)}</bdi>
              </Button>
            )}
          </li>
        ))}
      </ul>
    </div>
  );
}
