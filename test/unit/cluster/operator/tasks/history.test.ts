import { expect, test } from 'vitest';
import { historyOf } from '../../../../../src/cluster/operator/tasks/history.ts';
import { TASK_HISTORY } from '../../../../../src/domain/tasks/task.ts';
import { at, NOW, taskWith } from './fixtures.ts';

const ended = (name: string, seconds: number) =>
  taskWith({ name, status: { state: 'SUCCEEDED', exitCode: 0, completionTime: at(seconds) } });
const namesOf = (tasks: Parameters<typeof historyOf>[0]) =>
  historyOf(tasks, NOW).expired.map(({ metadata }) => metadata.name);

test('removes ended tasks after their time, and says when the next one expires', () => {
  const tasks = [ended('old', -TASK_HISTORY.taskSeconds), ended('new', -60), taskWith({ name: 'active' })];
  expect(namesOf(tasks)).toEqual(['old']);
  expect(historyOf(tasks, NOW).recheckAt).toBe(NOW.getTime() + (TASK_HISTORY.taskSeconds - 60) * 1000);
  expect(historyOf([taskWith()], NOW).recheckAt).toBeNull();
});

test('removes the oldest ended tasks above their number, and never one that has not ended', () => {
  const many = Array.from({ length: TASK_HISTORY.tasks + 2 }, (_, index) => ended(`t${index}`, -index - 1));
  const active = Array.from({ length: 5 }, (_, index) => taskWith({ name: `active${index}` }));
  expect(namesOf([...active, ...many])).toEqual([`t${TASK_HISTORY.tasks}`, `t${TASK_HISTORY.tasks + 1}`]);
});
