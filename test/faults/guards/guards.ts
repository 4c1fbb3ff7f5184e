/** Every guard. Names are unique. */
import type { Guard } from './guard.ts';
import { hubGuards } from './hub-guards.ts';
import { operatorGuards } from './operator-guards.ts';

export const GUARDS: readonly Guard[] = [...operatorGuards, ...hubGuards];
