import { useState } from 'react';
import { Button } from '../button.tsx';
import styles from '../ui.module.css';

/** Copies a text. Browsers can forbid it, and have no clipboard for pages without HTTPS. */
async function copy(text: string): Promise<string> {
  try {
    await navigator.clipboard.writeText(text);
    return 'Copied';
  } catch {
    return 'Copying failed. Select the text and copy it with the keyboard.';
  }
}

/** A text as it is, with a button that copies it. */
export function CopyableText({ text }: { readonly text: string }) {
  const [result, setResult] = useState('');
  return (
    <>
      <pre className={styles['code']}>{text}</pre>
      <p>
        <Button onClick={() => void copy(text).then(setResult)}>Copy</Button>{' '}
        <span role="status">{result}</span>
      </p>
    </>
  );
}
