/** Light or dark colors. The choice is kept in the browser; without one, the system decides. */

export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

const KEY = 'berth-theme';

const isTheme = (text: string | null): text is Theme => THEMES.some((theme) => theme === text);

export function storedTheme(): Theme {
  const stored = localStorage.getItem(KEY);
  return isTheme(stored) ? stored : 'system';
}

/** styles/base.css has the colors of both. */
export function applyTheme(theme: Theme): void {
  document.documentElement.dataset['theme'] = theme;
}

export function chooseTheme(theme: Theme): void {
  localStorage.setItem(KEY, theme);
  applyTheme(theme);
}
