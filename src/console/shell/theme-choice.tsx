import { useId, useState } from 'react';
import { chooseTheme, storedTheme, THEMES, type Theme } from './theme.ts';

const LABELS: Readonly<Record<Theme, string>> = { system: 'As the system', light: 'Light', dark: 'Dark' };

export function ThemeChoice() {
  const id = useId();
  const [theme, setTheme] = useState(storedTheme);
  return (
    <div>
      <label htmlFor={id}>Theme </label>
      <select
        id={id}
        value={theme}
        onChange={({ target }) => {
          const chosen = THEMES.find((each) => each === target.value) ?? 'system';
          chooseTheme(chosen);
          setTheme(chosen);
        }}
      >
        {THEMES.map((each) => (
          <option key={each} value={each}>
            {LABELS[each]}
          </option>
        ))}
      </select>
    </div>
  );
}
