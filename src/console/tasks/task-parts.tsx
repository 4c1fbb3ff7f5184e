import type { Task } from '../api/types.ts';
import { actorKind, actorName } from '../history/actor-text.ts';
import { shortWords } from './task-state.ts';

/** Parts of a task that the list and its page show. */

export const ShortCommand = ({ command }: Pick<Task, 'command'>) =>
  shortWords(command).map((word, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: words have no identity besides their place.
    <span key={index}>
      <bdi>{word}</bdi>{' '}
    </span>
  ));

export const Author = ({ created_by: actor }: Pick<Task, 'created_by'>) => (
  <>
    <bdi>{actorName(actor)}</bdi> ({actorKind(actor)})
  </>
);
