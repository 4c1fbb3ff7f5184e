import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app/app.tsx';
import './styles/base.css';
import { applyTheme, storedTheme } from './shell/theme.ts';

applyTheme(storedTheme());
const root = document.getElementById('root');
if (root === null) throw new Error('failed to start: the page has no element root');
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
