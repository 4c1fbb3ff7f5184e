/** How good a state is. ui/mark.tsx has a shape and a color for each. */
export type Tone = 'good' | 'busy' | 'bad' | 'unsure' | 'off';
