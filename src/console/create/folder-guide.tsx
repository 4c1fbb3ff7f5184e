import { useId, useState } from 'react';
import { apiUrl } from '../app/addresses.ts';
import { commandLine } from '../commands/commands.ts';
import form from '../form/form.module.css';
import { useTenantApi } from '../shell/tenant-context.ts';
import ui from '../ui/ui.module.css';

/** How to deploy a folder, which a browser cannot read. */
export function FolderGuide() {
  const id = useId();
  const { tenantId } = useTenantApi();
  const [name, setName] = useState('');
  return (
    <div className={form['fields']}>
      <p>
        The command line packs the folder, sends it, and builds an image from its Dockerfile, its berth.yaml,
        or as a Node or Python app.
      </p>
      <div className={form['field']}>
        <label htmlFor={id}>Name of the deployment</label>
        <input id={id} value={name} autoComplete="off" onChange={({ target }) => setName(target.value)} />
      </div>
      <pre className={ui['code']}>
        {[
          commandLine('berth', 'login', '--url', apiUrl, '--tenant', tenantId),
          commandLine('berth', 'deploy', name.trim() || 'NAME', '.'),
        ].join('\n')}
      </pre>
      <p>The deployment appears in the list as soon as the folder is sent.</p>
    </div>
  );
}
