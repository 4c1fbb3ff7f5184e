/** Which plans a run of fault plans has. A plan that is left out silently would count as held. */
import { describe, expect, test } from 'vitest';
import { allPlans } from '../../faults/plans.ts';
import { chosen, mixed } from '../../faults/select-plans.ts';

const plans = allPlans();
const ALL = { plan: [], only: [], subset: false };
const names = (found: readonly { readonly name: string }[]) => found.map(({ name }) => name);

describe('the selected plans', () => {
  test('are all plans, each once, when there is no option', () => {
    expect(names(chosen(plans, ALL))).toEqual(names(plans));
    expect(new Set(names(plans)).size).toBe(plans.length);
  });

  test('are the plan of a name, or else those whose names begin with it', () => {
    const exact = chosen(plans, { ...ALL, plan: ['walk'] });
    expect(names(exact)).toEqual(['walk']);
    const begun = names(chosen(plans, { ...ALL, plan: ['two-of-each/operator/'] }));
    expect(begun).toEqual(names(plans).filter((name) => name.startsWith('two-of-each/operator/')));
    expect(begun.length).toBeGreaterThan(1);
  });

  test('match every kind of option', () => {
    const subset = chosen(plans, { ...ALL, only: ['kill'], subset: true });
    expect(subset.length).toBeGreaterThan(0);
    expect(subset.every(({ name, inSubset }) => name.startsWith('kill/') && inSubset === true)).toBe(true);
  });

  test.each([
    [{ ...ALL, only: ['nothing'] }, /--only: there is no kind "nothing"/],
    [{ ...ALL, plan: ['kill/nothing'] }, /--plan: there is no plan "kill\/nothing"/],
    [{ ...ALL, plan: ['walk'], only: ['kill'] }, /no plan matches --plan walk --only kill/],
  ])('are refused with the option when there are none: %j', (choice, message) => {
    expect(() => chosen(plans, choice)).toThrow(message);
  });
});

test('the order of a seed has every plan once, and other seeds have other orders', () => {
  const [one, again, other] = [mixed(plans, 1), mixed(plans, 1), mixed(plans, 2)].map(names);
  expect(one).toEqual(again);
  expect(one).not.toEqual(other);
  expect(one?.toSorted()).toEqual(names(plans).toSorted());
});
