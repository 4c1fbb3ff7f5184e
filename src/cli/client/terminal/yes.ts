/** Arguments of `option` for commands that ask before they act. */
export const yesTo = (verb: string) => ['-y, --yes', `${verb} without a question`, false] as const;

/** Arguments of `option` for commands that delete. */
export const YES = yesTo('delete');
