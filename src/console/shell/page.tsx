import { type ReactNode, useEffect, useRef } from 'react';
import styles from './shell.module.css';

/** Whether a page was shown before, so that the next one is the result of a navigation. */
let hasShownPage = false;

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
    if (hasShownPage) heading.current?.focus();
    hasShownPage = true;
  }, []);
  return (
    <div className={styles['page']}>
      <title>{`${title} – Berth`}</title>
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
