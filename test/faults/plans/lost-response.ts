/** The response to a call is lost after the call was carried out: it is carried out only once. */
import { randomUUID } from 'node:crypto';
import { smallDeployment } from '../../integration/harness/samples.ts';
import { type Effect, effectName, kindOfEffect, Occurrences } from '../effects.ts';
import type { FaultPlan, Violation, Workload } from '../plan.ts';
import type { Recording } from '../record.ts';
import { workloadNamed } from '../workloads.ts';
import type { FaultWorld } from '../world.ts';
import { EffectDidNotOccur, isCarriedOut, type Passing, proxyOf } from './kill.ts';
import { broken, prepared } from './steps.ts';

const IN_SUBSET: ReadonlySet<string> = new Set(['lost-response/http/create']);
/** Workloads whose client waits for the first COMMIT of the API. */
const CALLS = ['create', 'update', 'rollback', 'delete'];

interface Chosen {
  readonly workload: string;
  readonly effect: Effect;
}

/** One effect of each verb and kind of operator and listener, and each COMMIT of the API that answers a client. */
function chosen(recording: Recording): Chosen[] {
  const seen = new Set<string>();
  return Object.entries(recording).flatMap(([workload, effects]) => {
    const commit = effects.find(({ role }) => role === 'api');
    return effects
      .filter((effect) => {
        if (effect.role === 'api') return effect === commit && CALLS.includes(workload);
        if (seen.has(kindOfEffect(effect))) return false;
        seen.add(kindOfEffect(effect));
        return true;
      })
      .map((effect) => ({ workload, effect }));
  });
}

/** Loses the response to this effect, counted from now on. Returns a function that says whether the effect was carried out. */
function loseAnswer(world: FaultWorld, effect: Effect): () => boolean {
  const { proxy, whatOf } = proxyOf(world, effect);
  const occurrences = new Occurrences();
  let isLost = false;
  proxy.add({
    match: (passing) => {
      if ((passing as Passing).client !== effect.role) return false;
      const what = whatOf(passing);
      return what === effect.what && occurrences.next(what) === effect.occurrence;
    },
    fault: {
      kind: 'lose',
      run: (_, answer) => {
        isLost = isCarriedOut(answer);
      },
    },
    times: 1,
  });
  return () => isLost;
}

function effectPlan({ workload, effect }: Chosen): FaultPlan {
  const like = workloadNamed(workload);
  return {
    name: `lost-response/${workload}/${effectName(effect)}`,
    says: `${workload}: the ${effect.role}'s "${effect.what}" (${effect.occurrence}) is carried out, and its response is lost.`,
    like,
    run: async (world): Promise<Violation[]> => {
      const given = await prepared(world, like);
      const isLost = loseAnswer(world, effect);
      await like.end(world, await like.run(world, given));
      if (!isLost()) throw new EffectDidNotOccur(effect);
      return [];
    },
  };
}

/** Sends a POST through its own proxy port, which loses the response. Then repeats it with the same key. */
async function postTwice(world: FaultWorld): Promise<{ id: string; isSame: boolean }> {
  const url = new URL('/v2/deployments', await world.hub.urlFor('client', world.apiUrl));
  const lost = world.hub.add({
    match: ({ client }) => client === 'client',
    fault: { kind: 'lose' },
    times: 1,
  });
  const body = smallDeployment('shop', {
    source_config: { resource_spec: {} },
    secrets: [{ name: 'TOKEN', value: 'first' }],
  });
  const headers = { 'idempotency-key': randomUUID() };
  const first = await fetch(url, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json', 'x-api-key': world.apiKey },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(30_000),
  }).catch(() => undefined);
  if (first !== undefined || lost.taken() !== 1) throw new Error('failed to lose the response to the POST');
  const [made] = await world.sql<{ id: string }>(`SELECT id FROM deployments WHERE name = 'shop'`);
  const again = await world.call('POST', '/v2/deployments', body, headers);
  if (again.status !== 201) throw new Error(`the repeated POST got the status ${again.status}`);
  return { id: again.body.id, isSame: made?.id === again.body.id };
}

const created = workloadNamed('create');
const posted: Workload = { ...created, run: async (world) => ({ id: (await postTwice(world)).id }) };

const httpPlans: FaultPlan[] = [
  {
    name: 'lost-response/http/create',
    says: 'The response to POST /v2/deployments is lost between API and client. The client repeats it with its Idempotency-Key.',
    like: created,
    run: async (world): Promise<Violation[]> => {
      const { id, isSame } = await postTwice(world);
      await posted.end(world, { id });
      return isSame ? [] : [broken('the response to the repeated POST has another deployment')];
    },
  },
];

/** All plans of this kind. @param recording the effects of the workloads */
export function lostResponsePlans(recording: Recording): FaultPlan[] {
  const plans = [...httpPlans, ...chosen(recording).map(effectPlan)];
  return plans.map((plan) => ({ ...plan, inSubset: IN_SUBSET.has(plan.name) }));
}
