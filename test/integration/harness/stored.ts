/** Custom resources as an API server of earlier days has stored them: written to etcd itself, past every rule of today. */
import { readRecord } from '../../cluster/layout.ts';
import { waitFor } from '../../cluster/wait.ts';
import { environment } from './environment.ts';

interface Stored {
  metadata: { generation: number };
  spec?: Record<string, unknown> | undefined;
}

const inBase64 = (text: string) => Buffer.from(text).toString('base64');

/** @throws Error when the run uses a cluster whose etcd is out of reach, or etcd answers with an error */
async function callEtcd<T>(what: 'range' | 'txn', body: object): Promise<T> {
  const record = readRecord(environment().stateDir);
  if (record === undefined) throw new Error('failed to reach etcd: the cluster was not started by the tests');
  const response = await fetch(`http://127.0.0.1:${record.ports.etcd}/v3/kv/${what}`, {
    method: 'POST',
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`etcd answered ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}

/** Changes what is stored of a ManagedDeployment, as a change of its spec that was once allowed. */
export async function changeStored(
  namespace: string,
  name: string,
  change: (spec: Record<string, unknown>) => Record<string, unknown> | undefined,
): Promise<void> {
  const key = inBase64(`/registry/berth.dev/manageddeployments/${namespace}/${name}`);
  const store = async () => {
    const { kvs: [found] = [] } = await callEtcd<{ kvs?: { value: string; mod_revision: string }[] }>(
      'range',
      {
        key,
      },
    );
    if (found === undefined) throw new Error(`etcd has no ManagedDeployment ${name}`);
    const object = JSON.parse(Buffer.from(found.value, 'base64').toString()) as Stored;
    object.spec = change(object.spec ?? {});
    object.metadata.generation += 1;
    // Whoever writes a status meanwhile is not written over.
    const compare = [{ key, target: 'MOD', result: 'EQUAL', mod_revision: found.mod_revision }];
    const success = [{ request_put: { key, value: inBase64(JSON.stringify(object)) } }];
    const { succeeded = false } = await callEtcd<{ succeeded?: boolean }>('txn', { compare, success });
    return succeeded;
  };
  await waitFor(`${name} to be stored otherwise`, store, { timeoutMs: 20_000 });
}
