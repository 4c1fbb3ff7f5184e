import { type ReactNode, useEffect, useRef } from 'react';
import { inTitle } from '../ui/isolated.ts';
import styles from './shell.module.css';

/** Path of the page that was shown last. A page with another path is the result of a navigation. */
let lastPath: string | null = null;

interface PageProps {
  readonly title: string;
  /** Buttons beside the title. */
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

/** A page with its heading. After a navigation, the heading gets the focus, so that screen readers read it. */
export function Page({ title, actions, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    const { pathname } = window.location;
    if (lastPath !== null && lastPath !== pathname) heading.current?.focus();
    lastPath = pathname;
  }, []);
  return (
    <div className={styles['page']}>
      <title>{`${inTitle(title)} – Berth`}</title>
      <div className={styles['heading']}>
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {actions !== undefined && <div className={styles['actions']}>{actions}</div>}
      </div>
      {children}
    </div>
  );
}
