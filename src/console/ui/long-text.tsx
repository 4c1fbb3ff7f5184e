import { useState } from 'react';
import { Button } from './button.tsx';
import styles from './long-text.module.css';

const SHORT = 300;

/** The beginning of a text, without half of a character that consists of two units. */
const beginning = (text: string) => text.slice(0, SHORT).replace(/[\ud800-\udbff]$/, '');

/** A text of a tenant or a cluster, which can be long and of any direction. Its beginning is shown until the user asks for the rest. */
export function LongText({ text }: { readonly text: string }) {
  const [isWhole, setWhole] = useState(false);
  const isLong = text.length > SHORT;
  return (
    <>
      <span className={styles['text']}>{isLong && !isWhole ? `${beginning(text)} …` : text}</span>
      {isLong && (
        <Button aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {isWhole ? 'Show less' : `Show all ${text.length} characters`}
        </Button>
      )}
    </>
  );
}
