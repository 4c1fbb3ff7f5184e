/** Arguments of `option` for commands that delete. */
export const YES = ['-y, --yes', 'delete without a question', false] as const;
