import { useState } from 'react';
import { Button } from './button.tsx';
import styles from './ui.module.css';

/** A secret that the API returns only once. It leaves the page with the dialog that shows it. */
export function SecretOnce({ label, value }: { readonly label: string; readonly value: string }) {
  const [isCopied, setCopied] = useState(false);
  return (
    <section aria-label={label}>
      <p>
        <strong>Copy it now.</strong> Berth does not show it again.
      </p>
      <pre className={styles['code']}>{value}</pre>
      <p>
        <Button onClick={() => void navigator.clipboard.writeText(value).then(() => setCopied(true))}>
          Copy
        </Button>{' '}
        <span role="status">{isCopied && 'Copied'}</span>
      </p>
    </section>
  );
}
