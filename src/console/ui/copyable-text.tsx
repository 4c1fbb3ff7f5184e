import { useState } from 'react';
import { Button } from './button.tsx';
import styles from './ui.module.css';

/** A text as it is, with a button that copies it. */
export function CopyableText({ text }: { readonly text: string }) {
  const [isCopied, setCopied] = useState(false);
  return (
    <>
      <pre className={styles['code']}>{text}</pre>
      <p>
        <Button onClick={() => void navigator.clipboard.writeText(text).then(() => setCopied(true))}>
          Copy
        </Button>{' '}
        <span role="status">{isCopied && 'Copied'}</span>
      </p>
    </>
  );
}
