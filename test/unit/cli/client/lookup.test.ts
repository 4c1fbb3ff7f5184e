import { expect, test } from 'vitest';
import { ApiProblem } from '../../../../src/cli/client/call-problem.ts';
import type { Client } from '../../../../src/cli/client/client.ts';
import { lookUpDeployment } from '../../../../src/cli/client/lookup.ts';

const LIKE_AN_ID = '0196f0a0-5c1e-7b3a-9d51-0c4f6f1c2a77';

/** A client of an API that has these deployments. */
function clientOf(deployments: readonly { id: string; name: string }[]): Client {
  const GET = async (
    operation: string,
    { params: { path, query } }: { params: { path?: { deployment_id: string }; query: { name?: string } } },
  ) => {
    if (operation === '/v2/deployments')
      return { resources: deployments.filter(({ name }) => name === query.name), offset: 0 };
    const found = deployments.find(({ id }) => id === path?.deployment_id);
    if (found === undefined) throw new ApiProblem(404, '404: There is no such deployment.');
    return found;
  };
  return { GET } as unknown as Client;
}

test('finds a deployment whose name looks like an id', async () => {
  const client = clientOf([{ id: 'a', name: LIKE_AN_ID }]);
  expect(await lookUpDeployment(client, LIKE_AN_ID, true)).toMatchObject({ id: 'a' });
});

test('finds an id, and reports an argument that is neither id nor name', async () => {
  const client = clientOf([{ id: LIKE_AN_ID, name: 'shop' }]);
  expect(await lookUpDeployment(client, LIKE_AN_ID, true)).toMatchObject({ name: 'shop' });
  await expect(lookUpDeployment(client, 'other', true)).rejects.toThrow(
    '404: there is no deployment "other"',
  );
});

test('rejects an argument that is the id of one deployment and the name of another', async () => {
  const client = clientOf([
    { id: LIKE_AN_ID, name: 'shop' },
    { id: 'b', name: LIKE_AN_ID },
  ]);
  await expect(lookUpDeployment(client, LIKE_AN_ID, true)).rejects.toThrow('and the name of another, b');
});
