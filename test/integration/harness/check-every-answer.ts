/** Runs before each file of the integration suite (vitest's setupFiles). */
import { checkFetches } from './conformance.ts';

checkFetches();
