import { Tabs } from '@base-ui/react/tabs';
import { useState } from 'react';
import { apiUrl } from '../app/addresses.ts';
import { Button } from '../ui/button.tsx';
import { CopyableText } from '../ui/copy/copyable-text.tsx';
import { Dialog } from '../ui/dialog.tsx';
import styles from '../ui/ui.module.css';
import { type ApiRequest, type Commands, curlCommand } from './commands.ts';

interface ShowCommandProps {
  /** What the commands do, such as "List these deployments". */
  readonly title: string;
  readonly request: ApiRequest;
  /** Lines of a shell, built with `commandLine`. */
  readonly berth?: string;
  readonly kubectl?: string;
}

/** A button that shows the commands of a view or an action. */
export function ShowCommand({ title, request, berth, kubectl }: ShowCommandProps) {
  const [isOpen, setOpen] = useState(false);
  const commands: Commands = {
    ...(berth === undefined ? {} : { berth }),
    curl: curlCommand(apiUrl, request),
    ...(kubectl === undefined ? {} : { kubectl }),
  };
  const entries = Object.entries(commands);
  return (
    <>
      <Button onClick={() => setOpen(true)} aria-haspopup="dialog">
        Show command
      </Button>
      <Dialog title={title} isOpen={isOpen} onClose={() => setOpen(false)}>
        <Tabs.Root defaultValue={entries[0]?.[0]}>
          <Tabs.List aria-label="Tools" className={styles['tabs']}>
            {entries.map(([tool]) => (
              <Tabs.Tab key={tool} value={tool} className={`${styles['button']} ${styles['plain']}`}>
                {tool}
              </Tabs.Tab>
            ))}
          </Tabs.List>
          {entries.map(([tool, text]) => (
            <Tabs.Panel key={tool} value={tool}>
              <CopyableText text={text} />
            </Tabs.Panel>
          ))}
        </Tabs.Root>
      </Dialog>
    </>
  );
}
